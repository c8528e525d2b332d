//! Answers that go back in the API's own words.

use std::sync::{Arc, Mutex};

use robota_core::{
    Agent, AgentConfig, Body, EventSink, History, Message, MessageRef, MessageState, NoHost, Part,
    RawCapture, Reasoning, RequestTuning, Timestamp, ToolCall, Turn, TurnEnd,
};
use robota_testkit::{AllowAll, EventRecorder, FakeModelServer, Script, fixed_ambient};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{provider, recorded, sent};
use crate::api::{request, server};

/// A search, as it stands in an answer.
fn search() -> [Value; 2] {
    [
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rust"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "opaque"},
        ]}),
    ]
}

fn agent(server: &FakeModelServer) -> Agent {
    Agent::new(AgentConfig {
        provider: Arc::new(provider(server, &json!({}))),
        model: "claude-sonnet-4-5".into(),
        system: "You are a test.".into(),
        tools: Vec::new(),
        max_rounds: 0,
        context_window: 200_000,
        max_output_tokens: None,
        output_budget: 30_000,
        spill: None,
        tuning: RequestTuning::default(),
        idle_timeout: None,
        raw_capture: RawCapture::Off,
        ambient: fixed_ambient(),
    })
}

#[tokio::test]
async fn a_paused_answer_is_sent_back_exactly_and_goes_on() {
    let [call, result] = search();
    let mut begun = call.clone();
    begun["input"] = json!({});
    let query = [json!({"type": "input_json_delta", "partial_json": "{\"query\": \"rust\"}"})];
    let signed = [json!({"type": "signature_delta", "signature": "sig"})];
    let paused = recorded(
        &[
            (json!({"type": "thinking", "thinking": "", "signature": ""}), &signed),
            (json!({"type": "text", "text": "I search."}), &[]),
            (begun, &query),
            (result.clone(), &[]),
        ],
        "pause_turn",
    );
    let server = server(Script::from_iter([paused, "Found it.".into(), "You are welcome.".into()])).await;
    let agent = agent(&server);
    let history = Mutex::new(History::default());
    let recorder = Arc::new(EventRecorder::new());
    let sink: Arc<dyn EventSink> = recorder.clone();
    for (prompt, answer) in [("Look it up.", "Found it."), ("Thanks.", "You are welcome.")] {
        let turn = Turn {
            history: &history,
            prompt: Message::user(prompt, Timestamp::default(), prompt),
            sink: &sink,
            gate: &AllowAll,
            cancel: &CancellationToken::new(),
            host: &NoHost,
            response_format: None,
        };
        let report = agent.run_turn(turn).await;
        assert_eq!((report.outcome.unwrap(), report.text.as_str()), (TurnEnd::Completed, answer));
    }
    server.assert_clean();
    assert_eq!(recorder.json("server_tool").len(), 1);

    let answered = |number: usize| {
        let mut content = server.requests()[number].messages()[1]["content"].clone();
        for block in content.as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        content
    };
    let mut blocks = vec![
        json!({"type": "thinking", "thinking": "", "signature": "sig"}),
        json!({"type": "text", "text": "I search."}),
        call,
        result,
    ];
    assert_eq!(answered(1), json!(blocks));
    blocks.push(json!({"type": "text", "text": "Found it."}));
    assert_eq!(answered(2), json!(blocks));
}

/// An answer with a search before its call, in both forms.
fn searched(state: MessageState, calls: &[&str], format: &str) -> MessageRef {
    let [call, result] = search();
    let tool_use = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"filePath": "a"}});
    let items = vec![call, result, json!({"type": "text", "text": "And:"}), tool_use];
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "Read".into(),
        arguments: "{\"filePath\":\"a\"}".into(),
    };
    let body = Body::Assistant {
        content: Some("And:".into()),
        parts: vec![Part::Native { format: format.into(), items }],
        tool_calls: calls.iter().map(call).collect(),
        reasoning: vec![Reasoning {
            provider: "anthropic".into(),
            text: "Hm.".into(),
            signature: Some("sig".into()),
            redacted: None,
        }],
    };
    let mut message = Message::with_body("a", Timestamp::default(), body);
    message.state = state;
    message.into()
}

fn result(call: &str) -> MessageRef {
    let (content, tool_call_id) = ("found".to_owned(), call.to_owned());
    let body = Body::Tool { content, tool_call_id, name: None, is_error: false, parts: Vec::new() };
    Message::with_body(format!("r-{call}"), Timestamp::default(), body).into()
}

#[tokio::test]
async fn calls_have_the_ids_of_the_history_and_what_was_changed_since_goes_in_plain_words() {
    let kinds = |messages: Vec<MessageRef>| async {
        let server = server("ok").await;
        let mut request = request();
        request.messages.extend(messages);
        let (body, _) = sent(&provider(&server, &json!({})), &server, request).await;
        let content = body["messages"][1]["content"].as_array().unwrap().clone();
        content
            .iter()
            .map(|block| match block["type"].as_str().unwrap() {
                "tool_use" => block["id"].as_str().unwrap().to_owned(),
                kind => kind.to_owned(),
            })
            .collect::<Vec<_>>()
    };
    let whole = ["server_tool_use", "web_search_tool_result", "text", "call_9"];
    let format = "anthropic-messages";
    let renamed = searched(MessageState::Complete, &["call:9"], format);
    assert_eq!(kinds(vec![renamed, result("call:9")]).await, whole);
    let user = || Message::user("u", Timestamp::default(), "Go on.").into();
    assert_eq!(
        kinds(vec![searched(MessageState::Complete, &[], format), user()]).await,
        ["thinking", "text"]
    );
    assert_eq!(
        kinds(vec![searched(MessageState::Interrupted, &[], format), user()]).await,
        ["thinking", "text"]
    );
    let foreign = searched(MessageState::Complete, &["c"], "openai-responses");
    assert_eq!(kinds(vec![foreign, result("c")]).await, ["thinking", "text", "c"]);
}

#[tokio::test]
async fn a_search_that_broke_off_is_left_out_once_something_else_has_come_after_it() {
    let [call, found] = search();
    let said = |text: &str, items: Vec<Value>| -> MessageRef {
        let body = Body::Assistant {
            content: (!text.is_empty()).then(|| text.to_owned()),
            parts: vec![Part::Native { format: "anthropic-messages".into(), items }],
            tool_calls: Vec::new(),
            reasoning: Vec::new(),
        };
        Message::with_body("a", Timestamp::default(), body).into()
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let user = || Message::user("u", Timestamp::default(), "Go on.").into();
    let kinds = |messages: Vec<MessageRef>| async {
        let server = server("ok").await;
        let mut request = request();
        request.messages.extend(messages);
        let (body, _) = sent(&provider(&server, &json!({})), &server, request).await;
        let messages = body["messages"].as_array().unwrap().iter();
        let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
        blocks.map(|block| block["type"].as_str().unwrap().to_owned()).skip(1).collect::<Vec<_>>()
    };
    let paused = || said("I search.", vec![text("I search."), call.clone()]);
    let wordless = || said("", vec![call.clone()]);
    let going_on = || said("Found.", vec![found.clone(), text("Found.")]);
    assert_eq!(kinds(vec![paused()]).await, ["text", "server_tool_use"]);
    assert_eq!(kinds(vec![paused(), user()]).await, ["text", "text"]);
    assert_eq!(kinds(vec![wordless(), user()]).await, ["text"]);
    let whole = ["text", "server_tool_use", "web_search_tool_result", "text", "text"];
    assert_eq!(kinds(vec![paused(), going_on(), user()]).await, whole);
}
