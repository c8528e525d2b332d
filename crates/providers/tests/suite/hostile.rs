//! Servers that send what no API promises: every call comes to an end, with an answer or an error that says why.

use robota_core::{FinishReason, ModelEvent, ProviderErrorKind};
use robota_providers::{ApiSurface, HttpProvider, ProviderKind};
use robota_testkit::{FakeModelServer, Reply};
use serde_json::{Value, json};

use crate::api::{call, server, spec};

/// The four APIs.
const APIS: [(ProviderKind, Option<ApiSurface>); 4] = [
    (ProviderKind::Anthropic, None),
    (ProviderKind::OpenAi, Some(ApiSurface::Responses)),
    (ProviderKind::Gemini, None),
    (ProviderKind::OpenAi, Some(ApiSurface::Chat)),
];

fn provider((kind, surface): (ProviderKind, Option<ApiSurface>), server: &FakeModelServer) -> HttpProvider {
    let mut spec = spec(kind, server.base_url());
    spec.options.api_surface = surface;
    spec.connect().unwrap()
}

/// An answer of these events.
fn stream(events: impl IntoIterator<Item = String>) -> Reply {
    let body: String = events.into_iter().map(|event| format!("data: {event}\n\n")).collect();
    Reply::body(200, "text/event-stream", body)
}

/// One piece of an answer in each API, with `value` in the place of a number, a text and an object.
fn frames(api: usize, value: &str) -> Vec<String> {
    let templates: &[&str] = match api {
        0 => &[
            r#"{"type":"content_block_start","index":@,"content_block":{"type":"text","text":@}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":@}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":@}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","more":@}}"#,
            r#"{"type":"content_block_stop","index":9}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":@},"usage":{"output_tokens":@}}"#,
            r#"{"type":@,"new":@}"#,
            r#"{"type":"message_start","message":@}"#,
        ],
        1 => &[
            r#"{"type":"response.output_item.added","output_index":@,"item":{"type":"function_call","call_id":@,"name":@}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":@}"#,
            r#"{"type":"response.output_text.delta","output_index":3,"content_index":@,"delta":@}"#,
            r#"{"type":"response.function_call_arguments.done","item_id":@,"arguments":@}"#,
            r#"{"type":"response.new.event","new":@}"#,
            r#"{"type":"response.completed","response":{"status":@,"output":@,"usage":@}}"#,
        ],
        2 => &[
            r#"{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"name":"Read","args":@}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"Read","willContinue":true,"partialArgs":[{"jsonPath":"$.a[4294967295]","numberValue":@}]}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"newPart":@},{"text":@}]}}]}"#,
            r#"{"candidates":@,"usageMetadata":{"promptTokenCount":@}}"#,
            r#"{"candidates":[{"finishReason":@}],"new":@}"#,
        ],
        _ => &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"id":@,"function":{"name":"Read","arguments":@}}]}}]}"#,
            r#"{"choices":[{"delta":{"content":@,"new":@}}],"usage":{"prompt_tokens":@}}"#,
            r#"{"choices":[{"delta":{"reasoning_details":@}}],"x_groq":{"usage":@}}"#,
            r#"{"choices":@}"#,
            r#"{"choices":[{"finish_reason":@}]}"#,
        ],
    };
    templates.iter().map(|template| template.replace('@', value)).collect()
}

#[tokio::test]
async fn every_call_comes_to_an_end_whatever_is_sent() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let deep_objects = format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000));
    let values = [
        "null",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "1e999",
        "1.5",
        "true",
        "\"\"",
        r#""\u0000""#,
        r#""\ud800""#,
        "[]",
        "{}",
        "[null]",
        r#"[{"type":7}]"#,
        r#"{"type":"tool_use"}"#,
        r#"{"type":"function_call"}"#,
        &deep,
        &deep_objects,
    ];
    for (at, api) in APIS.into_iter().enumerate() {
        for value in values {
            // Each by itself, because the first that cannot be taken ends the call.
            for frame in frames(at, value) {
                let shown = frame.chars().take(200).collect::<String>();
                let server = server(stream([frame])).await;
                let (events, error) = call(&provider(api, &server)).await;
                let finished = matches!(events.last(), Some(ModelEvent::Finish(_)));
                assert!(finished != error.is_some(), "{shown}: {events:?}");
                if let Some(error) = error {
                    assert!(error.to_string().len() < 2000, "{shown}: {error}");
                }
            }
        }
    }
}

/// So many calls in one answer, with a piece of arguments each.
fn many_calls(api: usize, count: usize) -> Vec<String> {
    let mut frames: Vec<Value> = Vec::new();
    for n in 0..count {
        match api {
            0 => {
                let block = json!({"type": "tool_use", "id": format!("c{n}"), "name": "Read", "input": {}});
                frames.push(json!({"type": "content_block_start", "index": n, "content_block": block}));
            }
            1 => {
                let item = json!({"type": "function_call", "id": format!("f{n}"), "call_id": format!("c{n}"),
                    "name": "Read", "arguments": "{}"});
                frames.push(json!({"type": "response.output_item.done", "output_index": n, "item": item}));
            }
            2 => {
                let part = json!({"functionCall": {"name": "Read", "args": {}}});
                frames.push(json!({"candidates": [{"content": {"parts": [part]}}]}));
            }
            _ => {
                // Without a name: begun by nothing that is shown.
                let call = json!({"index": n, "id": format!("c{n}"), "function": {"arguments": "{"}});
                frames.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
            }
        }
    }
    frames.iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn calls_without_end_are_stopped() {
    for (at, api) in APIS.into_iter().enumerate() {
        let server = server(stream(many_calls(at, 20_000))).await;
        let (events, error) = call(&provider(api, &server)).await;
        let error = error.unwrap();
        assert_eq!(error.kind(), ProviderErrorKind::Protocol, "{error}");
        let started = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallStart { .. })).count();
        assert!(started <= 1001, "{started}");
        assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finish(FinishReason::ToolUse))));
    }
}

#[tokio::test]
async fn an_answer_that_ends_without_a_word_for_an_unknown_reason_is_a_failure() {
    let ends = [
        r#"{"type":"message_delta","delta":{"stop_reason":"new_reason"}}"#,
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"new_reason"}}}"#,
        r#"{"candidates":[{"finishReason":"new_reason"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"new_reason"}]}"#,
    ];
    for (api, end) in APIS.into_iter().zip(ends) {
        let stop = r#"{"type":"message_stop"}"#.to_owned();
        let server = server(stream(
            [end.to_owned()].into_iter().chain((api.0 == ProviderKind::Anthropic).then_some(stop)),
        ))
        .await;
        let (events, error) = call(&provider(api, &server)).await;
        let error = error.unwrap();
        assert!(error.to_string().contains("without a word (new_reason)") && error.is_retryable(), "{error}");
        assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finish(_))), "{events:?}");
    }
}
