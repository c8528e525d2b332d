//! OpenAI Responses, parsed back, and their rules.

use robota_core::{Citation, FinishReason, Usage};
use robota_testkit::{FakeModelServer, Reply, Rule, Script};
use serde_json::{Value, json};

use crate::client::{Answer, http, send};

fn body(input: &Value) -> Value {
    json!({"model": "fake", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "input": input})
}

fn hi() -> Value {
    json!([{"role": "user", "content": "hi"}])
}

async fn ask(server: &FakeModelServer, body: &Value) -> Answer {
    let url = format!("{}/v1/responses", server.base_url());
    send(http().post(url).body(body.to_string())).await.unwrap()
}

fn rich_reply() -> Reply {
    let citation =
        Citation { url: Some("https://a.example".into()), title: Some("A".into()), ..Citation::default() };
    Reply::new()
        .thinking(["H", "m"], "proof")
        .server_tool("ws_1", "web_search", json!({"query": "rust"}), json!([]))
        .text(["a", "b"])
        .citation(citation)
        .tool_call("call_1", "Read", ["{\"a\"", ":1}"])
        .tool_call("call_2", "Bash", "")
        .usage(Usage { input_tokens: 7, output_tokens: 3, cache_read_tokens: 5, cache_write_tokens: 0 })
}

/// The items of the rich reply, when they are complete.
fn items() -> Value {
    let annotation = json!({"type": "url_citation", "start_index": 1, "end_index": 2, "url": "https://a.example", "title": "A"});
    json!([
        {"id": "rs_fake_1_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}],
            "encrypted_content": "proof"},
        {"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "rust"}},
        {"id": "msg_fake_1_2", "type": "message", "status": "completed", "role": "assistant", "content": [
            {"type": "output_text", "text": "ab", "annotations": [annotation], "logprobs": []}]},
        {"id": "fc_fake_1_3", "type": "function_call", "status": "completed", "call_id": "call_1",
            "name": "Read", "arguments": "{\"a\":1}"},
        {"id": "fc_fake_1_4", "type": "function_call", "status": "completed", "call_id": "call_2",
            "name": "Bash", "arguments": ""},
    ])
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_api_in_order() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let events = ask(&server, &body(&hi())).await.events();
    let names = events.iter().map(|(name, data)| {
        assert_eq!(data["type"], name.as_str());
        name.strip_prefix("response.").unwrap()
    });
    let expected = "created in_progress output_item.added reasoning_summary_part.added \
        reasoning_summary_text.delta reasoning_summary_text.delta reasoning_summary_text.done \
        reasoning_summary_part.done output_item.done output_item.added web_search_call.in_progress \
        web_search_call.searching web_search_call.completed output_item.done output_item.added content_part.added \
        output_text.delta output_text.delta output_text.annotation.added output_text.done content_part.done \
        output_item.done output_item.added function_call_arguments.delta function_call_arguments.delta \
        function_call_arguments.done output_item.done output_item.added function_call_arguments.delta \
        function_call_arguments.done output_item.done completed";
    assert_eq!(names.collect::<Vec<_>>().join(" "), expected);
    for (number, (name, event)) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{name}");
    }
    let done = events.iter().filter(|(name, _)| name == "response.output_item.done");
    assert_eq!(Value::from_iter(done.map(|(_, event)| event["item"].clone())), items());
    let delta = json!({"type": "response.output_text.delta", "sequence_number": 16, "item_id": "msg_fake_1_2",
        "output_index": 2, "content_index": 0, "delta": "a", "logprobs": []});
    assert_eq!(events[16].1, delta);
    let response = &events.last().unwrap().1["response"];
    assert_eq!((&response["output"], &response["status"]), (&items(), &json!("completed")));
    let usage = json!({"input_tokens": 12, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    assert_eq!(response["usage"], usage);
    server.assert_clean();
}

#[tokio::test]
async fn without_stream_the_same_reply_is_one_document() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let mut body = body(&hi());
    body["stream"] = false.into();
    let response = ask(&server, &body).await.json();
    assert_eq!((&response["output"], &response["status"]), (&items(), &json!("completed")));
}

#[tokio::test]
async fn reasoning_is_sent_back_only_to_whom_asks_for_it() {
    let server = FakeModelServer::start(Reply::new().thinking("Hm", "proof")).await.unwrap();
    let mut body = body(&hi());
    body["include"] = json!([]);
    assert!(!ask(&server, &body).await.text().contains("proof"));
}

#[tokio::test]
async fn ends_and_failures_have_the_names_of_the_api() {
    let script = Script::new()
        .reply(Reply::new().text("a").stop(FinishReason::MaxTokens))
        .reply(Reply::new().text("a").stream_error("server_error", "down"))
        .reply(Reply::new().stream_error("server_error", "down"))
        .reply(Reply::error(429, "slow"));
    let server = FakeModelServer::start(script).await.unwrap();
    let incomplete = ask(&server, &body(&hi())).await.events().pop().unwrap();
    assert_eq!(incomplete.0, "response.incomplete");
    assert_eq!(incomplete.1["response"]["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let failed = ask(&server, &body(&hi())).await.events().pop().unwrap();
    let error = json!({"code": "server_error", "message": "down"});
    assert_eq!((failed.0.as_str(), &failed.1["response"]["error"]), ("response.failed", &error));
    let events = ask(&server, &body(&hi())).await.events();
    let error = json!({"type": "error", "code": "server_error", "message": "down", "param": null, "sequence_number": 0});
    assert_eq!(events, [("error".to_owned(), error)]);
    let refused = ask(&server, &body(&hi())).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (429, &json!("rate_limit_exceeded")));
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "Read", "arguments": "{}"})
}

fn result(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "x"})
}

fn after_prompt(items: &[Value]) -> Value {
    let first = json!({"role": "user", "content": [{"type": "input_text", "text": "hi"}]});
    body(&std::iter::once(first).chain(items.iter().cloned()).collect())
}

#[tokio::test]
async fn a_whole_conversation_passes() {
    let server = FakeModelServer::start(Script::from_iter(["a", "b"])).await.unwrap();
    let rs = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"});
    let text =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]});
    let mut items = vec![
        rs,
        text,
        call("a"),
        call("b"),
        result("b"),
        result("a"),
        json!({"role": "user", "content": "so?"}),
    ];
    assert_eq!(ask(&server, &after_prompt(&items)).await.status, 200);
    items.extend([call("c"), result("c")]);
    assert_eq!(ask(&server, &after_prompt(&items)).await.status, 200);
    assert_eq!(server.requests()[1].new_tool_results()[0].call_id, "c");
    server.assert_clean();
}

#[tokio::test]
async fn every_rule_is_noticed_when_it_is_broken() {
    let tool =
        |schema: Value| json!([{"type": "function", "name": "Read", "strict": true, "parameters": schema}]);
    let with = |field: &str, value: Value| {
        let mut body = body(&hi());
        body[field] = value;
        body
    };
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let user = json!({"role": "user", "content": "and"});
    let cases = [
        (Rule::Body, with("input", json!([]))),
        (Rule::Body, after_prompt(&[json!({"role": "user", "content": [{"type": "text", "text": "x"}]})])),
        (Rule::EmptyText, with("input", json!(" "))),
        (Rule::Roles, with("input", json!([{"role": "assistant", "content": "x"}]))),
        (Rule::Roles, after_prompt(&[json!({"role": "tool", "content": "x"})])),
        (Rule::PairedCalls, after_prompt(&[call("a")])),
        (Rule::PairedCalls, after_prompt(&[result("a")])),
        (Rule::PairedCalls, after_prompt(&[call("a"), user.clone()])),
        (Rule::PairedCalls, after_prompt(&[call("a"), call("b"), result("a"), call("c"), result("c")])),
        (Rule::PairedCalls, after_prompt(&[call("a"), result("a"), call("a"), result("a")])),
        (Rule::CallInput, {
            let call = json!({"type": "function_call", "call_id": "a", "name": "Read", "arguments": "{oops"});
            after_prompt(&[call, result("a")])
        }),
        (Rule::Items, after_prompt(&[json!({"type": "reasoning", "summary": []}), call("a"), result("a")])),
        (Rule::Items, {
            let rs = json!({"type": "reasoning", "summary": [], "encrypted_content": "e"});
            after_prompt(&[rs, user])
        }),
        (Rule::Items, after_prompt(&[json!({"type": "item_reference", "id": "rs_1"})])),
        (Rule::Items, with("previous_response_id", "resp_1".into())),
        (Rule::ToolSchemas, with("tools", tool(open))),
        (Rule::ToolChoice, with("tool_choice", "required".into())),
        (Rule::ToolChoice, {
            let mut body = with(
                "tools",
                json!([{"type": "function", "name": "Read", "parameters": {"type": "object"}}]),
            );
            body["tool_choice"] = json!({"type": "function", "name": "Glob"});
            body
        }),
    ];
    for (rule, body) in cases {
        let server = FakeModelServer::start("never").await.unwrap();
        let answer = ask(&server, &body).await;
        let broken = server.violations().into_iter().map(|violation| violation.rule).collect::<Vec<_>>();
        assert_eq!((answer.status, broken.contains(&rule)), (400, true), "{rule:?} {broken:?} {body}");
    }
}

#[tokio::test]
async fn what_was_said_is_repeated_unchanged() {
    let server = FakeModelServer::start(Script::from_iter(["a", "b"])).await.unwrap();
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let user = |text: &str| json!({"role": "user", "content": text});
    ask(&server, &after_prompt(&[said("one"), user("and")])).await;
    let answer = ask(&server, &after_prompt(&[said("two"), user("and"), said("three"), user("so")])).await;
    assert_eq!((answer.status, server.violations()[0].rule), (400, Rule::StablePrefix));
}
