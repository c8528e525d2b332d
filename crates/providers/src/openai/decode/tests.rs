//! One test for each oddity of servers (protocols F4), on recorded chunks.

use proptest::prelude::*;
use robota_core::{ProviderErrorKind, ToolClass, Usage};
use serde_json::{Value, json};

use super::*;
use crate::recorded::{End, cut, read, read_whole};

/// A stream of these chunks, closed by `[DONE]`.
fn body(chunks: &[Value]) -> String {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    body
}

#[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

#[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
fn call(call: Value) -> Value {
    delta(json!({"tool_calls": [call]}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn decoder() -> ChatDecoder {
    ChatDecoder::new(Reading::Plain, None)
}

fn read_tool() -> ToolSpec {
    ToolSpec::new("Read", ToolClass::Inspect, "")
}

/// The events of these chunks without the start of the answer.
fn events(chunks: &[Value]) -> Vec<ModelEvent> {
    let mut events = read_whole(decoder(), &body(chunks));
    assert!(matches!(events.remove(0), ModelEvent::Started { .. }));
    events
}

/// The calls of these chunks as id, name and arguments, and why the answer ended.
fn calls(chunks: &[Value]) -> (Vec<(String, String, String)>, FinishReason) {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut reason = None;
    for event in events(chunks) {
        match event {
            ModelEvent::ToolCallStart { index, id, name } => {
                assert_eq!(index, calls.len());
                calls.push((id, name, String::new()));
            }
            ModelEvent::ToolCallArguments { index, delta } => calls[index].2.push_str(&delta),
            ModelEvent::Finish(finish) => reason = Some(finish),
            _ => {}
        }
    }
    (calls, reason.expect("a finish"))
}

fn called(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

fn by_the_book() -> Vec<Value> {
    vec![
        json!({"id": "chatcmpl-1", "model": "m-1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}], "usage": null}),
        delta(json!({"content": "Grüße, "})),
        delta(json!({"content": "I look."})),
        call(
            json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "Read", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "{\"filePath\":"}})),
        call(
            json!({"index": 1, "id": "call_2", "type": "function", "function": {"name": "Glob", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "\"a\"}"}})),
        call(json!({"index": 1, "function": {"arguments": "{}"}})),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 1000}}}),
    ]
}

#[test]
fn an_answer_by_the_book_gives_every_event_in_order() {
    let start =
        |index, id: &str, name: &str| ModelEvent::ToolCallStart { index, id: id.into(), name: name.into() };
    let arguments = |index, delta: &str| ModelEvent::ToolCallArguments { index, delta: delta.into() };
    let expected = [
        ModelEvent::Started { response_id: Some("chatcmpl-1".into()), model: Some("m-1".into()) },
        ModelEvent::TextDelta("Grüße, ".into()),
        ModelEvent::TextDelta("I look.".into()),
        start(0, "call_1", "Read"),
        arguments(0, "{\"filePath\":"),
        start(1, "call_2", "Glob"),
        arguments(0, "\"a\"}"),
        arguments(1, "{}"),
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::ToolCallEnd { index: 1 },
        ModelEvent::Usage(Usage {
            input_tokens: 200,
            output_tokens: 30,
            cache_read_tokens: 1000,
            cache_write_tokens: 0,
        }),
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    assert_eq!(read_whole(decoder(), &body(&by_the_book())), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chunking_line_ends_and_comments_do_not_matter(
        cuts in proptest::collection::vec(0_usize..2000, 0..40),
        crlf in any::<bool>(),
        comments in any::<bool>(),
    ) {
        let expected = read_whole(decoder(), &body(&by_the_book()));
        let mut body = body(&by_the_book());
        if comments {
            body = body.replace("data: ", ": keepalive\n\ndata: ");
        }
        if crlf {
            body = body.replace('\n', "\r\n");
        }
        let (events, end) = read(decoder(), cut(&body, cuts));
        prop_assert!(matches!(end, End::Finished));
        prop_assert_eq!(events, expected);
    }
}

#[test]
fn quirk_1_parallel_calls_all_numbered_0_or_not_at_all() {
    for index in [json!(0), Value::Null] {
        let one = |id: &str, path: &str| {
            let arguments = json!({"filePath": path}).to_string();
            call(json!({"index": index, "id": id, "function": {"name": "Read", "arguments": arguments}}))
        };
        let expected = vec![
            called("call_a", "Read", "{\"filePath\":\"a\"}"),
            called("call_b", "Read", "{\"filePath\":\"b\"}"),
        ];
        let chunks = [one("call_a", "a"), one("call_b", "b"), finish("tool_calls")];
        assert_eq!(calls(&chunks), (expected, FinishReason::ToolUse), "{index}");

        let without_ids = [one("", "a"), one("", "b"), finish("tool_calls")];
        let names: Vec<_> = calls(&without_ids).0.into_iter().map(|call| call.2).collect();
        assert_eq!(names, ["{\"filePath\":\"a\"}", "{\"filePath\":\"b\"}"], "{index}");
    }
}

#[test]
fn quirk_1_a_name_repeated_with_every_piece_is_one_call() {
    let piece =
        |arguments: &str| call(json!({"index": 0, "function": {"name": "Read", "arguments": arguments}}));
    let chunks = [piece("{\"a\":"), piece("{\"b\":1}"), piece("}"), finish("tool_calls")];
    assert_eq!(calls(&chunks).0, [called("", "Read", "{\"a\":{\"b\":1}}")]);
}

#[test]
fn quirk_2_the_presence_of_calls_decides_over_the_reason() {
    let one = call(json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": "{}"}}));
    for last in [finish("stop"), finish(""), delta(json!({}))] {
        assert_eq!(calls(&[one.clone(), last]).1, FinishReason::ToolUse);
    }
    assert_eq!(calls(&[finish("tool_calls")]).1, FinishReason::EndTurn);
    assert_eq!(calls(&[one, finish("length")]).1, FinishReason::MaxTokens);
}

#[test]
fn quirk_3_arguments_as_an_object_keep_their_text() {
    let body = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"Read\",\"arguments\":{\"b\": 1, \"a\": 2}}}]}}]}\n\ndata: [DONE]\n\n";
    let events = read_whole(decoder(), body);
    assert!(
        events.contains(&ModelEvent::ToolCallArguments { index: 0, delta: "{\"b\": 1, \"a\": 2}".into() })
    );
    let empty = call(json!({"index": 0, "id": "c", "function": {"name": "Glob", "arguments": ""}}));
    assert_eq!(calls(&[empty, finish("stop")]).0, [called("c", "Glob", "")]);
}

#[test]
fn quirk_4_empty_names_and_ids_on_later_pieces_are_ignored() {
    let chunks = [
        call(json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": null}})),
        call(json!({"index": 0, "id": "", "function": {"name": "", "arguments": "{\"a\":"}})),
        call(json!({"index": 0, "id": null, "function": {"name": null, "arguments": "1}"}})),
        // A new id for every piece, as older servers send it.
        call(json!({"index": 0, "id": "other", "function": {"arguments": " "}})),
        finish("tool_calls"),
    ];
    assert_eq!(calls(&chunks).0, [called("c", "Read", "{\"a\":1} ")]);
}

#[test]
fn quirk_5_an_empty_last_chunk_a_legacy_copy_and_a_null_role_change_nothing() {
    let chunks = [
        delta(json!({
            "role": null, "content": null, "function_call": {"name": "Read", "arguments": "{}"},
            "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "Read", "arguments": "{}"}}],
        })),
        call(json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": ""}})),
        call(json!({"index": 1, "id": "", "function": {"name": "", "arguments": ""}})),
        finish("tool_calls"),
    ];
    assert_eq!(calls(&chunks).0, [called("c", "Read", "{}")]);
}

#[test]
fn quirk_13_malformed_arguments_and_those_before_the_name_arrive_as_written() {
    let chunks = [
        call(json!({"index": 0, "id": "c", "function": {"arguments": "{\"a\": "}})),
        call(json!({"index": 0, "function": {"name": "Read", "arguments": "oops"}})),
        call(json!({"index": 1, "id": "d", "function": {"arguments": "{}"}})),
        finish("tool_calls"),
    ];
    assert_eq!(calls(&chunks).0, [called("c", "Read", "{\"a\": oops"), called("d", "", "{}")]);
}

#[test]
fn quirk_6_thinking_under_either_name_ends_where_the_text_begins() {
    for field in ["reasoning_content", "reasoning"] {
        let chunks = [delta(json!({field: "Hm"})), delta(json!({"content": "Yes"})), finish("stop")];
        let expected = [
            ModelEvent::ThinkingDelta("Hm".into()),
            ModelEvent::ThinkingEnd { signature: None },
            ModelEvent::TextDelta("Yes".into()),
            ModelEvent::Finish(FinishReason::EndTurn),
        ];
        assert_eq!(events(&chunks), expected);
    }
}

#[test]
fn quirk_8_markup_in_the_text_becomes_thinking_and_a_call() {
    let chunks = [
        delta(json!({"content": "<thi"})),
        delta(json!({"content": "nk>Hm</think>\n\nYes <tool_"})),
        delta(json!({"content": "call>{\"name\":\"Read\",\"arguments\":{\"a\":1}}</tool_call>"})),
        finish("stop"),
    ];
    let expected = [
        ModelEvent::Started { response_id: None, model: None },
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::TextDelta("Yes ".into()),
        ModelEvent::ToolCallStart { index: 0, id: String::new(), name: "Read".into() },
        ModelEvent::ToolCallArguments { index: 0, delta: "{\"a\":1}".into() },
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    assert_eq!(
        read_whole(ChatDecoder::new(Reading::markup(&[Arc::new(read_tool())]), None), &body(&chunks)),
        expected
    );
    // At the vendor's own address it is what it looks like: text.
    assert_eq!(calls(&chunks), (Vec::new(), FinishReason::EndTurn));
}

#[test]
fn quirk_9_the_last_count_counts_and_none_is_none() {
    let counted = |tokens: u64| {
        let mut chunk = delta(json!({"content": "x"}));
        chunk["usage"] = json!({"prompt_tokens": 10, "completion_tokens": tokens});
        chunk
    };
    let usages = |chunks: &[Value]| -> Vec<u64> {
        let events = events(chunks).into_iter();
        events
            .filter_map(|event| match event {
                ModelEvent::Usage(usage) => Some(usage.output_tokens),
                _ => None,
            })
            .collect()
    };
    assert_eq!(usages(&[counted(1), counted(2), finish("stop")]), [2]);
    assert_eq!(usages(&[delta(json!({"content": "x"})), finish("stop")]), [] as [u64; 0]);
}

#[test]
fn quirk_10_a_missing_done_is_no_fault_but_a_missing_finish_is() {
    let whole = body(&[delta(json!({"content": "x"})), finish("stop")]).replace("data: [DONE]\n\n", "");
    let last = |body: &str| read(decoder(), [body.as_bytes()]);
    let (events, end) = last(&whole);
    assert!(matches!(end, End::Finished));
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::EndTurn)));
    let cut = body(&[delta(json!({"content": "x"}))]).replace("data: [DONE]\n\n", "");
    assert!(matches!(last(&cut).1, End::Cut));
}

#[test]
fn quirk_11_an_error_object_as_data_is_an_error() {
    for (report, kind, message) in [
        (
            json!({"error": {"code": 502, "message": "upstream failed"}}),
            ProviderErrorKind::Server,
            "upstream failed",
        ),
        (
            json!({"error": {"code": "rate_limit_exceeded", "message": "slow"}, "choices": []}),
            ProviderErrorKind::RateLimit,
            "slow",
        ),
        (
            json!({"object": "error", "message": "too big", "code": 400}),
            ProviderErrorKind::InvalidRequest,
            "too big",
        ),
    ] {
        let (_, End::Fault(Fault::Refused(error))) = read(decoder(), [body(&[report]).as_bytes()]) else {
            panic!("an error was expected");
        };
        assert_eq!((error.kind(), error.message.as_str()), (kind, message));
    }
}

#[test]
fn a_refusal_is_shown_and_named() {
    let chunks = [delta(json!({"refusal": "I will not."})), finish("stop")];
    let expected = [ModelEvent::TextDelta("I will not.".into()), ModelEvent::Finish(FinishReason::Refusal)];
    assert_eq!(events(&chunks), expected);
}

#[test]
fn thinking_in_a_list_of_parts_is_told_from_text() {
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]);
    let chunks = [
        delta(json!({"content": thinking})),
        delta(
            json!({"content": [{"type": "text", "text": "Yes"}, {"type": "reference", "reference_ids": [1]}]}),
        ),
        delta(json!({"content": "."})),
        finish("stop"),
    ];
    let expected = [
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::TextDelta("Yes".into()),
        ModelEvent::TextDelta(".".into()),
        ModelEvent::Finish(FinishReason::EndTurn),
    ];
    assert_eq!(events(&chunks), expected);
}

#[test]
fn details_of_thinking_are_shown_once_and_kept_for_their_provider() {
    let detail = json!({"type": "reasoning.text", "text": "Hm", "format": "x-v1", "index": 0});
    let signed = json!({"type": "reasoning.text", "signature": "s", "format": "x-v1", "index": 0});
    let chunks = [
        delta(json!({"reasoning": "Hm", "reasoning_details": [detail]})),
        delta(json!({"reasoning_details": [signed]})),
        call(json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": "{}"}})),
        finish("tool_calls"),
    ];
    let item = json!({
        "provider": "openrouter",
        "calls": ["c"],
        "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "format": "x-v1", "index": 0, "signature": "s"}],
    });
    let expected = [
        ModelEvent::Started { response_id: None, model: None },
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::ToolCallStart { index: 0, id: "c".into(), name: "Read".into() },
        ModelEvent::ToolCallArguments { index: 0, delta: "{}".into() },
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::NativeContent { format: "openai-chat".into(), items: vec![item] },
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    let decoder = ChatDecoder::new(Reading::Plain, Some("openrouter"));
    assert_eq!(read_whole(decoder, &body(&chunks)), expected);
    // Others show the text in them, and keep nothing.
    let only_details = [
        delta(json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm"}]})),
        finish("stop"),
    ];
    let expected = [
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::Finish(FinishReason::EndTurn),
    ];
    assert_eq!(events(&only_details), expected);
}

#[test]
fn quirk_9_counts_are_found_wherever_they_stand() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2});
    let mut in_choice = finish("stop");
    in_choice["choices"][0]["usage"] = usage.clone();
    let mut beside = finish("stop");
    beside["x_groq"] = json!({"usage": usage});
    for last in [in_choice, beside] {
        let events = events(&[delta(json!({"content": "x"})), last]);
        assert!(
            matches!(events[1], ModelEvent::Usage(Usage { input_tokens: 10, output_tokens: 2, .. })),
            "{events:?}"
        );
    }
}

#[test]
fn gemma_writes_its_thinking_and_calls_as_text() {
    let chunks = [
        delta(json!({"content": "<|channel>thou"})),
        delta(json!({"content": "ght\nHm<channel|>Yes <|tool_call>call:Read{a:<|\"|>b<|\"|>}"})),
        delta(json!({"content": "<tool_call|>"})),
        finish("stop"),
    ];
    let expected = [
        ModelEvent::Started { response_id: None, model: None },
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::TextDelta("Yes ".into()),
        ModelEvent::ToolCallStart { index: 0, id: "gemma_call_1".into(), name: "Read".into() },
        ModelEvent::ToolCallArguments { index: 0, delta: "{\"a\":\"b\"}".into() },
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    let tools: Arc<[Arc<ToolSpec>]> = Arc::new([Arc::new(read_tool())]);
    assert_eq!(read_whole(ChatDecoder::new(Reading::gemma(&tools), None), &body(&chunks)), expected);
}

#[test]
fn an_end_that_is_a_failure_is_an_error() {
    let report = json!({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}, "choices": null});
    for (chunk, kind) in [
        (finish("insufficient_system_resource"), ProviderErrorKind::Overloaded),
        (finish("error"), ProviderErrorKind::Server),
        (report, ProviderErrorKind::RateLimit),
    ] {
        let (_, End::Fault(Fault::Refused(error))) = read(decoder(), [body(&[chunk]).as_bytes()]) else {
            panic!("an error was expected");
        };
        assert_eq!(error.kind(), kind);
    }
    assert_eq!(calls(&[finish("sensitive")]).1, FinishReason::ContentFilter);
    assert_eq!(calls(&[finish("model_length")]).1, FinishReason::ContextWindow);
}
