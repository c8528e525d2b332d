//! Chunks as the service sends them, and parts in any order.

use proptest::prelude::*;
use robota_core::{Citation, ProviderErrorKind, Usage};
use serde_json::{Value, json};

use super::*;
use crate::recorded::{End, cut, read, read_whole};

/// A stream of `chunks`.
fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn stop(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model"}, "finishReason": reason, "index": 0}]})
}

/// The events of `chunks` but for the first one, the start.
fn events(chunks: &[Value]) -> Vec<ModelEvent> {
    let mut events = read_whole(GeminiDecoder::default(), &stream(chunks));
    assert!(matches!(events.remove(0), ModelEvent::Started { .. }));
    events
}

/// The failure that reading `chunks` ends with.
fn fault(chunks: &[Value]) -> ApiError {
    match read(GeminiDecoder::default(), [stream(chunks).as_bytes()]) {
        (_, End::Fault(Fault::Refused(error))) => *error,
        other => panic!("{other:?}"),
    }
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

fn thought(text: &str) -> ModelEvent {
    ModelEvent::ThinkingDelta(text.into())
}

fn call(index: usize, id: &str, name: &str, arguments: &str) -> [ModelEvent; 3] {
    [
        ModelEvent::ToolCallStart { index, id: id.into(), name: name.into() },
        ModelEvent::ToolCallArguments { index, delta: arguments.into() },
        ModelEvent::ToolCallEnd { index },
    ]
}

fn native(items: Value) -> ModelEvent {
    let Value::Array(items) = items else { panic!("{items}") };
    ModelEvent::NativeContent { format: "gemini".into(), items }
}

#[test]
fn thinking_text_and_signed_calls() {
    let chunks = [
        json!({"candidates": [{"content": {"parts": [{"text": "**Look", "thought": true}], "role": "model"},
            "index": 0}], "usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 100,
            "thoughtsTokenCount": 5}, "modelVersion": "gemini-3-flash", "responseId": "r1"}),
        parts(&json!([{"text": " first**", "thought": true}])),
        parts(&json!([{"text": "Let me "}])),
        parts(&json!([{"text": "look."},
            {"functionCall": {"id": "c1", "name": "Read", "args": {"b": 1.50, "a": "ä"}}, "thoughtSignature": "s1"}])),
        parts(&json!([{"functionCall": {"name": "Glob", "args": {}}}])),
        json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP",
            "index": 0}], "usageMetadata": {"promptTokenCount": 120, "candidatesTokenCount": 7,
            "thoughtsTokenCount": 9, "totalTokenCount": 136}}),
    ];
    let read = read_whole(GeminiDecoder::default(), &stream(&chunks));
    let items = json!([
        {"text": "Let me look."},
        {"functionCall": {"id": "c1", "name": "Read", "args": {"b": 1.5, "a": "ä"}}, "thoughtSignature": "s1"},
        {"functionCall": {"name": "Glob", "args": {}}},
    ]);
    let mut expected = vec![
        ModelEvent::Started { response_id: Some("r1".into()), model: Some("gemini-3-flash".into()) },
        thought("**Look"),
        thought(" first**"),
        ModelEvent::ThinkingEnd { signature: None },
        text("Let me "),
        text("look."),
    ];
    let written = chunks[3]["candidates"][0]["content"]["parts"][1]["functionCall"]["args"].to_string();
    expected.extend(call(0, "c1", "Read", &written));
    expected.extend(call(1, "", "Glob", "{}"));
    let usage = Usage { input_tokens: 20, output_tokens: 16, cache_read_tokens: 100, cache_write_tokens: 0 };
    expected.extend([native(items), ModelEvent::Usage(usage), ModelEvent::Finish(FinishReason::ToolUse)]);
    assert_eq!(read, expected);
}

#[test]
fn what_neutral_events_say_needs_no_native_content() {
    let chunks =
        [parts(&json!([{"text": "a"}, {"functionCall": {"name": "Read", "args": {"a": 1}}}])), stop("STOP")];
    let mut expected = vec![text("a")];
    expected.extend(call(0, "", "Read", "{\"a\":1}"));
    expected.push(ModelEvent::Finish(FinishReason::ToolUse));
    assert_eq!(events(&chunks), expected);
}

#[test]
fn order_proof_and_unknown_parts_are_kept() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    let chunks = [
        parts(&json!([{"text": "a"}, code, {"text": "b"}, {"text": "c"}])),
        parts(&json!([{}, {"thought": true}])),
        parts(&json!([{"thoughtSignature": "s"}])),
        stop("STOP"),
    ];
    let items = json!([{"text": "a"}, code, {"text": "bc"}, {"text": "", "thoughtSignature": "s"}]);
    let expected =
        [text("a"), text("b"), text("c"), native(items), ModelEvent::Finish(FinishReason::EndTurn)];
    assert_eq!(events(&chunks), expected);
}

#[test]
fn arguments_may_come_value_by_value() {
    let partial = |path: &str, value: &str| json!({"jsonPath": path, "stringValue": value});
    let chunks = [
        parts(
            &json!([{"functionCall": {"name": "Read", "id": "c", "willContinue": true}, "thoughtSignature": "s"}]),
        ),
        parts(&json!([{"functionCall": {"partialArgs": [partial("$.a", "x")], "willContinue": true}}])),
        parts(&json!([{"functionCall": {"partialArgs": [partial("$.a", "y")], "willContinue": true}}])),
        parts(&json!([{"functionCall": {}}])),
        parts(&json!([{"functionCall": {}}])),
        json!({"candidates": null}),
        parts(&json!([{"functionCall": {"name": "Glob", "partialArgs": [partial("$.p", "z")]}}])),
        stop("STOP"),
    ];
    let mut expected = Vec::from(call(0, "c", "Read", "{\"a\":\"xy\"}"));
    expected.extend(call(1, "", "Glob", "{\"p\":\"z\"}"));
    let items = json!([
        {"functionCall": {"id": "c", "name": "Read", "args": {"a": "xy"}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "Glob", "args": {"p": "z"}}},
    ]);
    expected.extend([native(items), ModelEvent::Finish(FinishReason::ToolUse)]);
    assert_eq!(events(&chunks), expected);
}

#[test]
fn searches_and_sources_are_told_once() {
    let grounding = json!({"webSearchQueries": ["rust 2026"], "groundingChunks": [
        {"web": {"uri": "https://a.example", "title": "A"}}, {"retrievedContext": {}}]});
    let search =
        json!({"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["rust 2026"]}}});
    let found = json!({"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}});
    let chunks = [
        parts(&json!([search, found, {"text": "a"}])),
        json!({"candidates": [{"groundingMetadata": grounding}]}),
        json!({"candidates": [{"groundingMetadata": grounding, "finishReason": "STOP", "urlContextMetadata":
            {"urlMetadata": [{"retrievedUrl": "https://b.example", "urlRetrievalStatus": "OK"}]}}]}),
    ];
    let used = |tool: &str, query: &str| ModelEvent::ServerTool { tool: tool.into(), query: query.into() };
    let source = Citation { url: Some("https://a.example".into()), title: Some("A".into()), text: None };
    let expected = [
        used("google_search", "rust 2026"),
        text("a"),
        used("url_context", "https://b.example"),
        ModelEvent::Citation(source),
        native(json!([search, found, {"text": "a"}])),
        ModelEvent::Finish(FinishReason::EndTurn),
    ];
    assert_eq!(events(&chunks), expected);
}

#[test]
fn every_end_has_its_reason() {
    for (reason, expected) in [
        ("MAX_TOKENS", FinishReason::MaxTokens),
        ("SAFETY", FinishReason::ContentFilter),
        ("IMAGE_SAFETY", FinishReason::ContentFilter),
        ("SPII", FinishReason::ContentFilter),
        ("OTHER", FinishReason::Other("OTHER".into())),
    ] {
        assert_eq!(events(&[stop(reason)]), [ModelEvent::Finish(expected)], "{reason}");
    }
    let called = parts(&json!([{"functionCall": {"name": "Read", "args": {}}}]));
    for (reason, expected) in [
        ("MALFORMED_FUNCTION_CALL", FinishReason::ToolUse),
        ("MAX_TOKENS", FinishReason::MaxTokens),
        ("SAFETY", FinishReason::ContentFilter),
    ] {
        let events = events(&[called.clone(), stop(reason)]);
        assert_eq!(events.last(), Some(&ModelEvent::Finish(expected)), "{reason}");
    }
    let (_, end) = read(GeminiDecoder::default(), [stream(&[parts(&json!([{"text": "a"}]))]).as_bytes()]);
    assert!(matches!(end, End::Cut), "{end:?}");
}

#[test]
fn failures_within_the_stream_are_typed() {
    let mut unreadable = stop("MALFORMED_FUNCTION_CALL");
    unreadable["candidates"][0]["finishMessage"] = "Malformed function call: print(".into();
    let error = fault(&[unreadable]);
    assert_eq!(error.kind(), ProviderErrorKind::Server);
    assert_eq!(
        error.message,
        "the model wrote a tool call that cannot be read (MALFORMED_FUNCTION_CALL): Malformed function call: print("
    );
    assert_eq!(fault(&[stop("UNEXPECTED_TOOL_CALL")]).kind(), ProviderErrorKind::Server);
    let blocked = fault(&[json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})]);
    assert_eq!(blocked.kind(), ProviderErrorKind::ContentFilter);
    assert_eq!(blocked.message, "the prompt was blocked (PROHIBITED_CONTENT)");
    let report = json!({"error": {"code": 503, "message": "Try later.", "status": "UNAVAILABLE"}});
    for report in [report.clone(), json!([report])] {
        let error = fault(&[parts(&json!([{"text": "a"}])), report]);
        assert_eq!((error.kind(), error.status), (ProviderErrorKind::Overloaded, Some(503)));
    }
}

fn any_part() -> impl Strategy<Value = Value> {
    let text = "[a-zä]{0,3}";
    prop_oneof![
        text.prop_map(|text| json!({"text": text})),
        text.prop_map(|text| json!({"text": text, "thought": true})),
        text.prop_map(|text| json!({"text": text, "thoughtSignature": "s"})),
        Just(json!({"functionCall": {"name": "Read", "args": {"a": [1, {}]}}})),
        Just(json!({"functionCall": {"id": "c", "name": "Read", "args": {}}, "thoughtSignature": "s"})),
        Just(json!({"functionCall": {"name": "Glob", "willContinue": true}})),
        Just(
            json!({"functionCall": {"partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "x"}], "willContinue": true}})
        ),
        Just(json!({"functionCall": {}})),
        Just(json!({"functionCall": {"args": "half"}})),
        Just(json!({"inlineData": {"mimeType": "image/png", "data": ""}})),
        Just(json!({"toolCall": {"toolType": "URL_CONTEXT"}})),
        Just(json!({})),
    ]
}

proptest! {
    #[test]
    fn any_order_of_parts_gives_whole_calls_and_the_same_events_in_any_chunks(
        parts_of_chunks in prop::collection::vec(prop::collection::vec(any_part(), 0..4), 0..6),
        places in prop::collection::vec(0..2000_usize, 0..6),
    ) {
        let mut chunks: Vec<Value> = parts_of_chunks.iter().map(|some| parts(&json!(some))).collect();
        chunks.push(stop("STOP"));
        let body = stream(&chunks);
        let events = read_whole(GeminiDecoder::default(), &body);
        let (in_chunks, _) = read(GeminiDecoder::default(), cut(&body, places));
        prop_assert_eq!(&in_chunks, &events);

        let (mut begun, mut open, mut visible) = (0, None, String::new());
        for event in &events {
            match event {
                ModelEvent::ToolCallStart { index, .. } => {
                    prop_assert_eq!((*index, open), (begun, None));
                    begun += 1;
                    open = Some(*index);
                }
                ModelEvent::ToolCallArguments { index, delta } => {
                    prop_assert_eq!(Some(*index), open);
                    visible.push_str(delta);
                }
                ModelEvent::ToolCallEnd { index } => prop_assert_eq!(Some(*index), open.take()),
                ModelEvent::NativeContent { items, .. } => {
                    let calls = items.iter().filter(|item| item["functionCall"].is_object()).count();
                    prop_assert_eq!(calls, begun);
                }
                _ => {}
            }
        }
        prop_assert_eq!(open, None);
        prop_assert!(matches!(events.last(), Some(ModelEvent::Finish(_))));
    }

    #[test]
    fn no_frame_makes_it_panic(frames in prop::collection::vec(r#"[\[\]{}":,a-z0-9]{0,40}"#, 0..5)) {
        let body: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
        let _ = read(GeminiDecoder::default(), [body.as_bytes()]);
    }
}

#[test]
fn a_call_that_begins_after_the_reason_of_the_end_is_ended_too() {
    let begun = parts(&json!([{"functionCall": {"id": "c", "name": "Read", "willContinue": true}}]));
    let events = events(&[stop("STOP"), begun]);
    assert_eq!(
        events,
        [call(0, "c", "Read", "{}").to_vec(), vec![ModelEvent::Finish(FinishReason::ToolUse)]].concat()
    );
}
