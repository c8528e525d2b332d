//! OpenAI Chat Completions, parsed back.

use robota_core::Usage;
use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::client::{ask_openai, openai, openai_body, send};

fn rich_reply() -> Reply {
    Reply::new()
        .thinking("Hm.", "unused here")
        .text(["a", "b"])
        .tool_call("call_1", "Read", ["{\"a\"", ":1}"])
        .tool_call("", "Bash", "")
        .usage(Usage { input_tokens: 7, output_tokens: 3, cache_read_tokens: 5, cache_write_tokens: 2 })
}

fn usage() -> Value {
    json!({"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 5}})
}

#[tokio::test]
async fn a_stream_has_the_chunks_of_the_api_in_order() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let answer = ask_openai(&server).await;
    assert_eq!((answer.status, answer.broken), (200, false));
    let mut events = answer.events();
    assert_eq!(events.pop().unwrap().1, "[DONE]");
    let last = events.pop().unwrap().1;
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage()));
    let finish = events.pop().unwrap().1;
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(finish["choices"][0]["delta"], json!({}));
    let deltas: Vec<Value> = events
        .iter()
        .map(|(_, chunk)| {
            assert_eq!(
                (&chunk["object"], &chunk["model"]),
                (&json!("chat.completion.chunk"), &json!("fake"))
            );
            assert_eq!(
                (&chunk["usage"], &chunk["choices"][0]["finish_reason"]),
                (&Value::Null, &Value::Null)
            );
            chunk["choices"][0]["delta"].clone()
        })
        .collect();
    let call = |index: u64, id: &str, name: &str| {
        json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}]})
    };
    let arguments =
        |index: u64, text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
    let expected = [
        json!({"role": "assistant", "content": ""}),
        json!({"reasoning_content": "Hm."}),
        json!({"content": "a"}),
        json!({"content": "b"}),
        call(0, "call_1", "Read"),
        arguments(0, "{\"a\""),
        arguments(0, ":1}"),
        call(1, "", "Bash"),
        arguments(1, ""),
    ];
    assert_eq!(deltas, expected);
    server.assert_clean();
}

#[tokio::test]
async fn usage_comes_only_when_it_is_asked_for_and_scripted() {
    let server =
        FakeModelServer::start(Script::new().reply("a").reply(Reply::new().text("b").without_usage()));
    let server = server.await.unwrap();
    let mut body = openai_body(&json!([{"role": "user", "content": "hi"}]));
    body.as_object_mut().unwrap().remove("stream_options");
    for body in [body, openai_body(&json!([{"role": "user", "content": "hi"}]))] {
        let events = send(openai(&server, &body)).await.unwrap().events();
        assert!(events.iter().all(|(_, chunk)| chunk["usage"].is_null()), "{events:?}");
    }
}

#[tokio::test]
async fn usage_that_is_stated_comes_unasked_with_the_reason_of_the_end() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let mut body = openai_body(&json!([{"role": "user", "content": "hi"}]));
    body.as_object_mut().unwrap().remove("stream_options");
    let mut events = send(openai(&server, &body)).await.unwrap().events();
    events.pop();
    let last = events.pop().unwrap().1;
    assert_eq!((&last["choices"][0]["finish_reason"], &last["usage"]), (&json!("tool_calls"), &usage()));
}

#[tokio::test]
async fn without_stream_the_same_reply_is_one_document() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let mut body = openai_body(&json!([{"role": "user", "content": "hi"}]));
    body["stream"] = false.into();
    let completion = send(openai(&server, &body)).await.unwrap().json();
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let message = json!({"role": "assistant", "content": "ab", "refusal": null, "reasoning_content": "Hm.",
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": function("Read", "{\"a\":1}")},
        {"id": "", "type": "function", "function": function("Bash", "")},
    ]});
    assert_eq!(completion["choices"][0]["message"], message);
    assert_eq!(completion["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(completion["usage"], usage());
}
