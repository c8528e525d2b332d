//! One test for each oddity of servers, on recorded events.

mod orders;

use proptest::prelude::*;
use robota_core::{Citation, ProviderErrorKind};
use serde_json::{Value, json};

use super::*;
use crate::recorded::{End, cut, read, read_whole};

/// A stream of these events, named as the API names them.
fn body(events: &[Value]) -> String {
    let frame =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(frame).collect()
}

fn decoder() -> ResponsesDecoder {
    ResponsesDecoder::new("openai-responses")
}

fn events(events: &[Value]) -> Vec<ModelEvent> {
    read_whole(decoder(), &body(events))
}

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "model": "gpt-5", "status": "in_progress", "output": []}})
}

fn started() -> ModelEvent {
    ModelEvent::Started { response_id: Some("resp_1".into()), model: Some("gpt-5".into()) }
}

#[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {
        "id": "resp_1", "model": "gpt-5", "status": "completed", "output": output, "incomplete_details": null,
        "usage": {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 50},
            "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1230},
    }})
}

fn usage() -> ModelEvent {
    let usage =
        Usage { input_tokens: 150, output_tokens: 30, cache_read_tokens: 1000, cache_write_tokens: 50 };
    ModelEvent::Usage(usage)
}

#[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

#[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn reasoning() -> Value {
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": [part("**Plan**"), part("Look.")]})
}

fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

fn function_call(id: &str, arguments: &str) -> Value {
    json!({"id": format!("fc_{id}"), "type": "function_call", "status": "completed", "call_id": id, "name": "Read", "arguments": arguments})
}

fn text_delta(id: &str, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": id, "output_index": 1, "content_index": 0, "delta": delta})
}

fn arguments_delta(id: &str, index: u64, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": delta})
}

fn thinking(text: &str) -> ModelEvent {
    ModelEvent::ThinkingDelta(text.into())
}

fn said(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

/// The events of a call that is not interleaved with others.
fn called(index: usize, id: &str, arguments: &[&str]) -> Vec<ModelEvent> {
    let start = ModelEvent::ToolCallStart { index, id: id.into(), name: "Read".into() };
    let pieces =
        arguments.iter().map(|delta| ModelEvent::ToolCallArguments { index, delta: (*delta).into() });
    [start].into_iter().chain(pieces).chain([ModelEvent::ToolCallEnd { index }]).collect()
}

fn native(items: &[Value]) -> ModelEvent {
    ModelEvent::NativeContent { format: "openai-responses".into(), items: items.to_vec() }
}

fn finish(reason: FinishReason) -> ModelEvent {
    ModelEvent::Finish(reason)
}

fn by_the_book() -> Vec<Value> {
    let summary = |part: u64, delta: &str| json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": part, "delta": delta});
    vec![
        created(),
        json!({"type": "response.in_progress", "response": {"id": "resp_1", "model": "gpt-5"}}),
        added(0, json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gA"})),
        json!({"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
        summary(0, "**Pl"),
        summary(0, "an**"),
        json!({"type": "response.reasoning_summary_text.done", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "text": "**Plan**"}),
        summary(1, "Look."),
        done(0, reasoning()),
        added(
            1,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}),
        ),
        json!({"type": "response.content_part.added", "item_id": "msg_1", "output_index": 1, "content_index": 0, "part": {"type": "output_text", "text": ""}}),
        text_delta("msg_1", "Grüße, "),
        text_delta("msg_1", "I look."),
        json!({"type": "response.output_text.done", "item_id": "msg_1", "output_index": 1, "content_index": 0, "text": "Grüße, I look."}),
        json!({"type": "response.content_part.done", "item_id": "msg_1", "output_index": 1, "content_index": 0, "part": {"type": "output_text", "text": "Grüße, I look."}}),
        done(1, message("Grüße, I look.")),
        added(
            2,
            json!({"id": "fc_call_1", "type": "function_call", "call_id": "call_1", "name": "Read", "arguments": ""}),
        ),
        arguments_delta("fc_call_1", 2, "{\"filePath\":"),
        arguments_delta("fc_call_1", 2, "\"a\"}"),
        json!({"type": "response.function_call_arguments.done", "item_id": "fc_call_1", "output_index": 2, "arguments": "{\"filePath\":\"a\"}"}),
        done(2, function_call("call_1", "{\"filePath\":\"a\"}")),
        completed(json!([
            reasoning(),
            message("Grüße, I look."),
            function_call("call_1", "{\"filePath\":\"a\"}")
        ])),
    ]
}

fn by_the_book_read() -> Vec<ModelEvent> {
    let whole = [reasoning(), message("Grüße, I look."), function_call("call_1", "{\"filePath\":\"a\"}")];
    let mut expected =
        vec![started(), thinking("**Pl"), thinking("an**"), thinking("\n\n"), thinking("Look.")];
    expected.extend([ModelEvent::ThinkingEnd { signature: None }, said("Grüße, "), said("I look.")]);
    expected.extend(called(0, "call_1", &["{\"filePath\":", "\"a\"}"]));
    expected.extend([native(&whole), usage(), finish(FinishReason::ToolUse)]);
    expected
}

#[test]
fn an_answer_by_the_book_gives_every_event_in_order() {
    assert_eq!(events(&by_the_book()), by_the_book_read());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chunking_and_line_ends_do_not_matter(
        cuts in proptest::collection::vec(0_usize..6000, 0..40),
        crlf in any::<bool>(),
    ) {
        let mut body = body(&by_the_book());
        if crlf {
            body = body.replace('\n', "\r\n");
        }
        let (events, end) = read(decoder(), cut(&body, cuts));
        prop_assert!(matches!(end, End::Finished));
        prop_assert_eq!(events, by_the_book_read());
    }
}

#[test]
fn a_text_and_its_calls_are_said_by_the_events_alone() {
    let text =
        [created(), text_delta("msg_1", "Hi"), done(1, message("Hi")), completed(json!([message("Hi")]))];
    assert_eq!(events(&text), [started(), said("Hi"), usage(), finish(FinishReason::EndTurn)]);
}

#[test]
fn an_answer_that_comes_whole_at_the_end_is_read_from_there() {
    let output = [reasoning(), message("I look."), function_call("call_1", "{}")];
    let mut expected = vec![started(), thinking("**Plan**"), thinking("\n\n"), thinking("Look.")];
    expected.extend([ModelEvent::ThinkingEnd { signature: None }, said("I look.")]);
    expected.extend(called(0, "call_1", &["{}"]));
    expected.extend([native(&output), usage(), finish(FinishReason::ToolUse)]);
    assert_eq!(events(&[completed(json!(output))]), expected);
    let items =
        [created(), done(0, output[0].clone()), done(1, output[1].clone()), done(2, output[2].clone())];
    let items = [&items[..], &[completed(json!([]))]].concat();
    assert_eq!(events(&items), expected);
    // Text that was streamed does not come again, calls that were not do.
    let text = [created(), text_delta("other", "I look."), completed(json!(output))];
    let mut expected = vec![started(), said("I look.")];
    expected.extend(called(0, "call_1", &["{}"]));
    expected.extend([native(&output), usage(), finish(FinishReason::ToolUse)]);
    assert_eq!(events(&text), expected);
}

#[test]
fn deltas_without_items_indices_or_an_end_are_taken_all_the_same() {
    let stream = [
        json!({"type": "response.reasoning_text.delta", "delta": "Hm"}),
        json!({"type": "response.output_text.delta", "delta": "Hi", "item_id": "a"}),
        json!({"type": "response.output_text.delta", "delta": "!", "item_id": "b"}),
        json!({"type": "response.unheard.of", "item_id": 7, "output_index": "x", "delta": {}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{\"a\":1}"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 4, "delta": "{}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "name": "Read", "arguments": "{\"a\":1}"}),
        done(4, json!({"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"})),
    ];
    let body = format!("{}data: [DONE]\n\n", body(&stream));
    let start = |index, id: &str| ModelEvent::ToolCallStart { index, id: id.into(), name: "Read".into() };
    let arguments = |index, delta: &str| ModelEvent::ToolCallArguments { index, delta: delta.into() };
    let expected = [
        ModelEvent::Started { response_id: None, model: None },
        thinking("Hm"),
        ModelEvent::ThinkingEnd { signature: None },
        said("Hi"),
        said("!"),
        start(0, ""),
        arguments(0, "{\"a\":1}"),
        start(1, "c"),
        arguments(1, "{}"),
        ModelEvent::ToolCallEnd { index: 1 },
        ModelEvent::ToolCallEnd { index: 0 },
        finish(FinishReason::ToolUse),
    ];
    assert_eq!(read_whole(decoder(), &body), expected);
}

#[test]
fn items_are_told_apart_whatever_the_server_calls_them() {
    // An id that changes between the beginning and the end of an item.
    let changing = [
        created(),
        added(
            0,
            json!({"id": "x1", "type": "function_call", "call_id": "call_1", "name": "Read", "arguments": ""}),
        ),
        arguments_delta("x2", 0, "{}"),
        done(
            0,
            json!({"id": "x3", "type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{}"}),
        ),
        completed(json!([])),
    ];
    let mut expected = vec![started()];
    expected.extend(called(0, "call_1", &["{}"]));
    expected.extend([usage(), finish(FinishReason::ToolUse)]);
    assert_eq!(events(&changing), expected);
    // One index for all, and every event twice.
    let twice = |event: Value| [event.clone(), event];
    let one_index = [
        twice(added(0, function_call("a", ""))),
        twice(done(0, function_call("a", "{}"))),
        twice(added(0, function_call("b", ""))),
        twice(done(0, function_call("b", "{}"))),
    ];
    let one_index = [&[created()][..], &one_index.concat(), &[completed(json!([]))]].concat();
    let mut expected = vec![started()];
    expected.extend([called(0, "a", &["{}"]), called(1, "b", &["{}"])].concat());
    expected.extend([usage(), finish(FinishReason::ToolUse)]);
    assert_eq!(events(&one_index), expected);
}

#[test]
fn a_search_of_the_service_and_its_sources_are_shown_and_kept() {
    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "rust 1.95"}});
    let page = json!({"id": "ws_2", "type": "web_search_call", "status": "completed", "action": {"type": "open_page", "url": "https://a.example"}});
    let citation = json!({"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2});
    let mut answer = message("It is out.");
    answer["content"][0]["annotations"] = json!([citation]);
    let stream = [
        created(),
        added(0, json!({"id": "ws_1", "type": "web_search_call", "status": "in_progress"})),
        json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"}),
        done(0, search.clone()),
        done(1, page.clone()),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 2, "delta": "It is out."}),
        json!({"type": "response.output_text.annotation.added", "item_id": "msg_1", "output_index": 2, "annotation": citation}),
        done(2, answer.clone()),
        completed(json!([search, page, answer])),
    ];
    let used = |query: &str| ModelEvent::ServerTool { tool: "web_search".into(), query: query.into() };
    let source = Citation { url: Some("https://a.example".into()), title: Some("A".into()), text: None };
    let expected = [
        started(),
        used("rust 1.95"),
        used("https://a.example"),
        said("It is out."),
        ModelEvent::Citation(source),
        native(&[search, page, answer]),
        usage(),
        finish(FinishReason::EndTurn),
    ];
    assert_eq!(events(&stream), expected);
}

#[test]
fn several_messages_are_paragraphs_and_kept_as_they_are() {
    let comment = json!({"id": "msg_0", "type": "message", "role": "assistant", "phase": "commentary",
        "content": [{"type": "output_text", "text": "First."}]});
    let stream = [created(), done(0, comment.clone()), done(1, message("Second.")), completed(json!([]))];
    let items = [comment, message("Second.")];
    let expected = [
        started(),
        said("First."),
        said("\n\n"),
        said("Second."),
        native(&items),
        usage(),
        finish(FinishReason::EndTurn),
    ];
    assert_eq!(events(&stream), expected);
}

#[test]
fn a_custom_tool_is_called_like_a_function_with_its_input() {
    let item = json!({"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "Read", "input": "a\nb"});
    let stream = [
        created(),
        added(
            0,
            json!({"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "Read", "input": ""}),
        ),
        json!({"type": "response.custom_tool_call_input.delta", "item_id": "ctc_1", "output_index": 0, "delta": "a\n"}),
        json!({"type": "response.custom_tool_call_input.delta", "item_id": "ctc_1", "output_index": 0, "delta": "b"}),
        json!({"type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "output_index": 0, "input": "a\nb"}),
        done(0, item.clone()),
        completed(json!([reasoning(), item])),
    ];
    let mut expected = vec![started()];
    expected.extend(called(0, "call_1", &["{\"input\":\"a\\nb\"}"]));
    // What did not come as an item of its own is kept from the end.
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{\"input\":\"a\\nb\"}"});
    expected.extend([native(&[reasoning(), call]), usage(), finish(FinishReason::ToolUse)]);
    assert_eq!(events(&stream), expected);
}

#[test]
fn an_answer_that_ends_early_says_why() {
    let incomplete = |reason: Value| json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": reason}});
    for (last, reason) in [
        (incomplete(json!({"reason": "max_output_tokens"})), FinishReason::MaxTokens),
        (incomplete(json!({"reason": "content_filter"})), FinishReason::ContentFilter),
        (incomplete(json!({"reason": "steered"})), FinishReason::Other("steered".into())),
        (incomplete(Value::Null), FinishReason::MaxTokens),
        (json!({"type": "response.completed"}), FinishReason::EndTurn),
    ] {
        let events = events(&[created(), text_delta("m", "and"), last]);
        assert_eq!(events, [started(), said("and"), finish(reason)]);
    }
    let refusal = json!({"type": "response.refusal.delta", "item_id": "m", "delta": "No."});
    let refused = events(&[created(), refusal, json!({"type": "response.completed", "response": {}})]);
    assert_eq!(refused, [started(), said("No."), finish(FinishReason::Refusal)]);
    // A call that was cut is ended, too, with what there is of it.
    let cut = [
        created(),
        added(0, function_call("c", "")),
        arguments_delta("fc_c", 0, "{\"a"),
        incomplete(json!({})),
    ];
    let mut expected = vec![started()];
    expected.extend(called(0, "c", &["{\"a"]));
    expected.push(finish(FinishReason::MaxTokens));
    assert_eq!(events(&cut), expected);
}

#[test]
fn a_failure_within_the_stream_is_told_by_its_kind() {
    use ProviderErrorKind as Kind;
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    for (event, kind, message) in [
        (failed(json!({"code": "rate_limit_exceeded", "message": "slow"})), Kind::RateLimit, "slow"),
        (failed(json!({"code": "server_error", "message": "oh"})), Kind::Server, "oh"),
        (failed(json!({"code": "invalid_prompt", "message": "no"})), Kind::InvalidRequest, "no"),
        (
            json!({"type": "error", "code": "context_length_exceeded", "message": "long", "param": null}),
            Kind::ContextLength,
            "long",
        ),
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "full"}}),
            Kind::Overloaded,
            "full",
        ),
        (json!({"error": {"message": "bad", "code": 400}}), Kind::InvalidRequest, "bad"),
    ] {
        let (events, end) = read(decoder(), [body(&[created(), event.clone()]).as_bytes()]);
        assert_eq!(events, [started()]);
        let End::Fault(Fault::Refused(error)) = end else { panic!("{end:?} for {event}") };
        assert_eq!((error.kind(), error.message.as_str()), (kind, message), "{event}");
    }
    let (_, end) = read(decoder(), [body(&[created(), text_delta("m", "and")]).as_bytes()]);
    assert!(matches!(end, End::Cut), "{end:?}");
}
