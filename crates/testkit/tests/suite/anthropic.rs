//! Anthropic Messages, parsed back.

use robota_core::{FinishReason, Usage};
use robota_testkit::{FakeModelServer, Reply};
use serde_json::{Value, json};

use crate::client::{anthropic, anthropic_body, ask_anthropic, send};

fn rich_reply() -> Reply {
    Reply::new()
        .thinking(["Let me ", "see."], "sig-1")
        .text(["Grüße, ", "Welt"])
        .ping()
        .tool_call("toolu_1", "Read", ["{\"file", "Path\":", "\"a\"}"])
        .tool_call("toolu_2", "Bash", json!({"command": "ls"}))
        .tool_call("toolu_3", "Odd", "{not json")
        .usage(Usage { input_tokens: 7, output_tokens: 3, cache_read_tokens: 5, cache_write_tokens: 2 })
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_api_in_order() {
    let server = FakeModelServer::start(rich_reply()).await.unwrap();
    let answer = ask_anthropic(&server).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert_eq!(answer.headers["request-id"], "req_fake_1");
    let events = answer.events();
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()), "{events:?}");

    let usage = json!({"input_tokens": 7, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 5,
        "output_tokens": 1});
    assert_eq!(events[0].1["message"]["usage"], usage);
    assert_eq!(events[0].1["message"]["model"], "fake");
    let rest: Vec<&Value> = events[1..].iter().map(|(_, data)| data).collect();
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let tool = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let input = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    let expected = [
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "see."})),
        delta(0, json!({"type": "signature_delta", "signature": "sig-1"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Grüße, "})),
        delta(1, json!({"type": "text_delta", "text": "Welt"})),
        json!({"type": "ping"}),
        stop(1),
        start(2, tool("toolu_1", "Read")),
        delta(2, input("{\"file")),
        delta(2, input("Path\":")),
        delta(2, input("\"a\"}")),
        stop(2),
        start(3, tool("toolu_2", "Bash")),
        delta(3, input("{\"command\":\"ls\"}")),
        stop(3),
        start(4, tool("toolu_3", "Odd")),
        delta(4, input("{not json")),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(rest, expected.iter().collect::<Vec<_>>());
    server.assert_clean();
}

#[tokio::test]
async fn without_stream_the_same_reply_is_one_document() {
    let server = FakeModelServer::start(rich_reply().stop(FinishReason::MaxTokens)).await.unwrap();
    let mut body = anthropic_body(&json!([{"role": "user", "content": "hi"}]));
    body["stream"] = false.into();
    let message = send(anthropic(&server, &body)).await.unwrap().json();
    let content = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "sig-1"},
        {"type": "text", "text": "Grüße, Welt"},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"filePath": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "toolu_3", "name": "Odd", "input": "{not json"},
    ]);
    assert_eq!(message["content"], content);
    assert_eq!(message["stop_reason"], "max_tokens");
    assert_eq!(message["usage"]["output_tokens"], 3);
}
