//! Recorded Messages streams, whole and broken.

use proptest::prelude::*;
use robota_core::ProviderErrorKind;
use serde_json::json;

use super::*;
use crate::recorded::{End, cut, read, read_whole};

const WHOLE: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":7,"cache_read_input_tokens":1000,"cache_creation_input_tokens":20,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, grüße"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"opaque"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"something_new","text":{"a":1}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"filePath\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"Glob","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: something_new
data: {"type":"something_new","index":"x2"}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn decoder() -> MessagesDecoder {
    MessagesDecoder::default()
}

fn usage(output_tokens: u64) -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 7,
        output_tokens,
        cache_read_tokens: 1000,
        cache_write_tokens: 20,
    })
}

fn start(index: usize, id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolCallStart { index, id: id.into(), name: name.into() }
}

fn arguments(index: usize, delta: &str) -> ModelEvent {
    ModelEvent::ToolCallArguments { index, delta: delta.into() }
}

#[test]
fn a_whole_answer_gives_every_event_in_order() {
    let expected = [
        ModelEvent::Started { response_id: Some("msg_1".into()), model: Some("m-1".into()) },
        usage(1),
        ModelEvent::ThinkingDelta("Hm, grüße".into()),
        ModelEvent::ThinkingEnd { signature: Some("sig".into()) },
        ModelEvent::RedactedThinking("opaque".into()),
        ModelEvent::TextDelta("I look.".into()),
        start(0, "toolu_1", "Read"),
        arguments(0, "{\"filePath\":"),
        arguments(0, "\"a"),
        ModelEvent::ToolCallEnd { index: 0 },
        start(1, "toolu_2", "Glob"),
        ModelEvent::ToolCallEnd { index: 1 },
        usage(30),
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    assert_eq!(read_whole(decoder(), WHOLE), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_split_into_chunks_and_the_line_ends_do_not_matter(
        cuts in proptest::collection::vec(0..WHOLE.len(), 0..40),
        crlf in any::<bool>(),
    ) {
        let body = if crlf { WHOLE.replace('\n', "\r\n") } else { WHOLE.to_owned() };
        let (events, end) = read(decoder(), cut(&body, cuts));
        prop_assert!(matches!(end, End::Finished));
        prop_assert_eq!(events, read_whole(decoder(), WHOLE));
    }
}

#[test]
fn every_byte_alone_gives_the_same_events() {
    let (events, _) = read(decoder(), WHOLE.as_bytes().chunks(1));
    assert_eq!(events, read_whole(decoder(), WHOLE));
}

#[test]
fn a_stream_without_message_stop_is_cut() {
    let (before, _) = WHOLE.split_once("event: message_stop").unwrap();
    let (events, end) = read(decoder(), [before.as_bytes()]);
    assert!(matches!(end, End::Cut));
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finish(_))));
}

#[test]
fn an_error_within_the_stream_keeps_its_type() {
    let body = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let (_, End::Fault(Fault::Refused(error))) = read(decoder(), [body.as_bytes()]) else {
        panic!("an error was expected");
    };
    assert_eq!((error.kind(), error.message.as_str()), (ProviderErrorKind::Overloaded, "Overloaded"));
}

#[test]
fn a_frame_that_is_no_json_is_malformed() {
    let (_, end) = read(decoder(), [b"data: <html>\n\n".as_slice()]);
    assert!(matches!(end, End::Fault(Fault::Malformed(_))));
}

#[test]
fn input_given_whole_at_the_start_of_a_block_is_not_lost() {
    let body = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{"b": 1, "a": 2}}}

data: {"type":"message_stop"}

"#;
    let expected = [
        start(0, "t", "Read"),
        arguments(0, "{\"b\":1,\"a\":2}"),
        ModelEvent::ToolCallEnd { index: 0 },
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    assert_eq!(read_whole(decoder(), body), expected);
}

#[test]
fn a_block_whose_start_was_left_out_is_read_all_the_same() {
    let body = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_delta","index":1,"delta":{"text":"Yes"}}

data: {"type":"message_stop"}

"#;
    let expected = [
        ModelEvent::ThinkingDelta("Hm".into()),
        ModelEvent::ThinkingEnd { signature: None },
        ModelEvent::TextDelta("Yes".into()),
        ModelEvent::Finish(FinishReason::EndTurn),
    ];
    assert_eq!(read_whole(decoder(), body), expected);
}

#[test]
fn every_stop_reason_has_its_meaning() {
    let reasons = [
        ("end_turn", FinishReason::EndTurn),
        ("max_tokens", FinishReason::MaxTokens),
        ("stop_sequence", FinishReason::StopSequence),
        ("tool_use", FinishReason::ToolUse),
        ("pause_turn", FinishReason::PauseTurn),
        ("compaction", FinishReason::PauseTurn),
        ("refusal", FinishReason::Refusal),
        ("model_context_window_exceeded", FinishReason::ContextWindow),
        ("something_new", FinishReason::Other("something_new".into())),
    ];
    for (reason, expected) in reasons {
        let end = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
        let body = format!("data: {end}\n\ndata: {{\"type\":\"message_stop\"}}\n\n");
        assert_eq!(read_whole(decoder(), &body), [ModelEvent::Finish(expected)]);
    }
}

#[test]
fn counts_are_cumulative_whoever_leaves_some_out() {
    let body = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":300,"cache_read_input_tokens":70,"output_tokens":1}}}

data: {"type":"message_delta","delta":{},"usage":{"input_tokens":25,"cache_read_input_tokens":90,"output_tokens":8,"server_tool_use":{"web_search_requests":1}}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":9}}

data: {"type":"message_stop"}

"#;
    let events = read_whole(decoder(), body);
    let usage = Usage { input_tokens: 25, output_tokens: 9, cache_read_tokens: 90, cache_write_tokens: 300 };
    assert_eq!(events[2..], [ModelEvent::Usage(usage), ModelEvent::Finish(FinishReason::EndTurn)]);
}

/// A frame of some kind, right or wrong.
fn any_frame() -> impl Strategy<Value = Value> {
    let kinds = [
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "mcp_tool_use",
        "compaction",
        "something_new",
        "",
    ];
    let deltas = [
        json!({"type": "text_delta", "text": "a"}),
        json!({"type": "thinking_delta", "thinking": "b"}),
        json!({"type": "signature_delta", "signature": "c"}),
        json!({"type": "input_json_delta", "partial_json": "{\"d\":"}),
        json!({"type": "citations_delta", "citation": {"url": "e"}}),
        json!({"type": "compaction_delta", "content": null}),
        json!({"type": "something_new", "text": [1], "more": "f"}),
        json!({"text": "g"}),
        json!({}),
    ];
    let start = (0..4u64, proptest::sample::select(kinds.to_vec()), any::<bool>()).prop_map(|(index, kind, full)| {
        let block = if full {
            json!({"type": kind, "text": "h", "thinking": 1, "signature": "s", "input": {"i": 1}, "id": 7, "data": "x"})
        } else {
            json!({"type": kind})
        };
        json!({"type": "content_block_start", "index": index, "content_block": block})
    });
    let delta = (0..4u64, proptest::sample::select(deltas.to_vec()))
        .prop_map(|(index, delta)| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let stop = (0..4u64).prop_map(|index| json!({"type": "content_block_stop", "index": index}));
    let others = vec![
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "ping"}),
        json!({"type": "something_new", "delta": 3, "index": "x"}),
        json!({"type": "content_block_delta"}),
        json!({"type": "content_block_start", "index": 9}),
    ];
    prop_oneof![3 => start, 6 => delta, 2 => stop, 1 => proptest::sample::select(others)]
}

proptest! {
    #[test]
    fn in_whatever_order_the_frames_come_the_answer_has_one_end(
        frames in proptest::collection::vec(any_frame(), 0..40)
    ) {
        let mut decoder = decoder();
        let mut events = Events::new();
        for frame in &frames {
            prop_assert!(decoder.frame(None, &frame.to_string(), &mut events).is_ok(), "{}", frame);
        }
        decoder.frame(None, r#"{"type":"message_stop"}"#, &mut events).unwrap();
        decoder.end(&mut events);
        let place = |is: fn(&ModelEvent) -> bool| -> Vec<usize> {
            events.iter().enumerate().filter(|(_, event)| is(event)).map(|(at, _)| at).collect()
        };
        prop_assert_eq!(place(|event| matches!(event, ModelEvent::Finish(_))), [events.len() - 1]);
        let native = place(|event| matches!(event, ModelEvent::NativeContent { .. }));
        prop_assert!(native.len() <= 1);
        for at in native {
            // Only the counts stand between it and the finish.
            prop_assert!(at + 3 >= events.len(), "{:?}", events);
        }
        let (mut started, mut ended) = (Vec::new(), Vec::new());
        for event in &events {
            match event {
                ModelEvent::ToolCallStart { index, .. } => started.push(*index),
                ModelEvent::ToolCallEnd { index } => ended.push(*index),
                _ => {}
            }
        }
        ended.sort_unstable();
        prop_assert_eq!(started, ended);
    }
}
