//! What of an answer is kept in the API's own words, and when.

use robota_core::{Citation, FinishReason, ModelEvent};
use serde_json::{Value, json};

use crate::anthropic::decode::MessagesDecoder;
use crate::recorded::read_whole;

/// The events of an answer with these blocks. A block is its start, and the deltas that follow.
fn answer(blocks: &[(Value, &[Value])], stop_reason: &str) -> Vec<ModelEvent> {
    let mut frames = Vec::new();
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        frames.extend(deltas.iter().map(delta));
        frames.push(json!({"type": "content_block_stop", "index": index}));
    }
    frames.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}}));
    frames.push(json!({"type": "message_stop"}));
    let body: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    read_whole(MessagesDecoder::default(), &body)
}

fn native(events: &[ModelEvent]) -> Option<&[Value]> {
    events.iter().find_map(|event| match event {
        ModelEvent::NativeContent { format, items } => {
            assert_eq!(format, "anthropic-messages");
            Some(items.as_slice())
        }
        _ => None,
    })
}

fn text(text: &str) -> (Value, &'static [Value]) {
    (json!({"type": "text", "text": text}), &[])
}

fn thinking(signature: &str) -> (Value, &'static [Value]) {
    (json!({"type": "thinking", "thinking": "Hm.", "signature": signature}), &[])
}

fn call(id: &str) -> (Value, &'static [Value]) {
    (json!({"type": "tool_use", "id": id, "name": "Read", "input": {"b": 1, "a": 2}}), &[])
}

#[test]
fn a_search_is_shown_and_kept_with_its_results_and_citations() {
    let found = json!([{"type": "web_search_result", "url": "https://a.example", "title": "A",
        "encrypted_content": "opaque", "page_age": null}]);
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found});
    let cited = json!({"type": "web_search_result_location", "url": "https://a.example", "title": "A",
        "cited_text": "all of it", "encrypted_index": "e"});
    let events = answer(
        &[
            text("I search."),
            (
                search,
                &[
                    json!({"type": "input_json_delta", "partial_json": ""}),
                    json!({"type": "input_json_delta", "partial_json": "{\"query\": \"ru"}),
                    json!({"type": "input_json_delta", "partial_json": "st\"}"}),
                ],
            ),
            (result.clone(), &[]),
            (
                json!({"type": "text", "text": "", "citations": []}),
                &[
                    json!({"type": "citations_delta", "citation": cited}),
                    json!({"type": "text_delta", "text": "It "}),
                    json!({"type": "text_delta", "text": "says so."}),
                ],
            ),
            text(" "),
        ],
        "end_turn",
    );
    let items = vec![
        json!({"type": "text", "text": "I search."}),
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rust"}}),
        result,
        json!({"type": "text", "text": "It says so.", "citations": [cited]}),
    ];
    let expected = [
        ModelEvent::TextDelta("I search.".into()),
        ModelEvent::ServerTool { tool: "web_search".into(), query: "rust".into() },
        ModelEvent::Citation(Citation {
            url: Some("https://a.example".into()),
            title: Some("A".into()),
            text: Some("all of it".into()),
        }),
        ModelEvent::TextDelta("\n\n".into()),
        ModelEvent::TextDelta("It ".into()),
        ModelEvent::TextDelta("says so.".into()),
        ModelEvent::TextDelta(" ".into()),
        ModelEvent::NativeContent { format: "anthropic-messages".into(), items },
        ModelEvent::Finish(FinishReason::EndTurn),
    ];
    assert_eq!(events, expected);
}

#[test]
fn texts_before_and_behind_another_block_are_paragraphs_and_kept_as_they_are() {
    let shown = |blocks: &[(Value, &[Value])]| -> String {
        let events = answer(blocks, "end_turn");
        let kept =
            native(&events).map(|items| items.iter().filter_map(|item| item["text"].as_str()).collect());
        let texts: String = blocks.iter().filter_map(|(start, _)| start["text"].as_str()).collect();
        assert_eq!(kept.unwrap_or_else(|| texts.clone()), texts);
        let delta = |event: &ModelEvent| match event {
            ModelEvent::TextDelta(delta) => Some(delta.clone()),
            _ => None,
        };
        events.iter().filter_map(delta).collect()
    };
    assert_eq!(shown(&[text("I look."), call("c1"), text("And"), text(" on.")]), "I look.\n\nAnd on.");
    assert_eq!(shown(&[text("I look.\n"), thinking("s"), text("On.")]), "I look.\nOn.");
    assert_eq!(shown(&[text("I look."), thinking("s"), text(" On.")]), "I look. On.");
    assert_eq!(shown(&[text("One "), text("line"), text(", cited.")]), "One line, cited.");
    assert_eq!(shown(&[thinking("s"), text("On.")]), "On.");
}

#[test]
fn an_answer_of_thinking_then_text_then_calls_needs_no_words_of_its_own() {
    let redacted = (json!({"type": "redacted_thinking", "data": "opaque"}), &[][..]);
    let direct =
        json!({"type": "tool_use", "id": "b", "name": "Read", "input": {}, "caller": {"type": "direct"}});
    let blocks = [
        thinking("sig"),
        redacted,
        text(""),
        text("I look"),
        text(" here."),
        call("a"),
        text("\n"),
        (direct, &[]),
    ];
    assert_eq!(native(&answer(&blocks, "tool_use")), None);
    // Thinking without a signature is not sent back, so its place does not matter.
    assert_eq!(native(&answer(&[text("I look."), thinking(""), call("a")], "tool_use")), None);
}

#[test]
fn any_other_order_does() {
    let by_code = json!({"type": "tool_use", "id": "c", "name": "Read", "input": {},
        "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}});
    let orders: [Vec<(Value, &[Value])>; 5] = [
        vec![call("a"), text("And.")],
        vec![call("a"), thinking("sig"), call("b")],
        vec![text("Well."), thinking("sig"), text("So.")],
        vec![(by_code, &[])],
        vec![(json!({"type": "something_new", "payload": [1]}), &[])],
    ];
    for blocks in orders {
        let sent: Vec<Value> = blocks.iter().map(|(start, _)| start.clone()).collect();
        assert_eq!(native(&answer(&blocks, "tool_use")), Some(&sent[..]));
    }
}

#[test]
fn a_paused_answer_is_always_kept_as_it_came() {
    let sent = [json!({"type": "text", "text": "Half of "})];
    assert_eq!(native(&answer(&[text("Half of ")], "pause_turn")), Some(&sent[..]));
    assert_eq!(native(&answer(&[text(" ")], "pause_turn")), None);
}

#[test]
fn what_the_model_wrote_as_input_is_an_object_in_any_case() {
    let cut = (
        json!({"type": "tool_use", "id": "a", "name": "Read", "input": {}}),
        [json!({
            "type": "input_json_delta", "partial_json": "{\"filePath\": \"a"
        })],
    );
    let events = answer(&[(cut.0, &cut.1), text("And.")], "max_tokens");
    assert_eq!(
        native(&events).unwrap()[0],
        json!({"type": "tool_use", "id": "a", "name": "Read", "input": {}})
    );
}

#[test]
fn tools_behind_a_server_and_summaries_are_kept() {
    let call = json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "docs", "input": {}});
    let result =
        json!({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": []});
    let events = answer(
        &[
            (
                json!({"type": "compaction", "content": null}),
                &[json!({"type": "compaction_delta", "content": "So far.", "encrypted_content": "opaque"})],
            ),
            (call, &[json!({"type": "input_json_delta", "partial_json": "{\"n\":3}"})]),
            (result.clone(), &[]),
            (
                json!({"type": "something_new", "note": "a", "text": "x"}),
                &[
                    json!({"type": "something_delta", "note": "b", "count": 1}),
                    json!({"type": "text_delta", "text": "y"}),
                    json!({"type": "input_json_delta", "partial_json": "{}"}),
                ],
            ),
        ],
        "compaction",
    );
    let items = vec![
        json!({"type": "compaction", "content": "So far.", "encrypted_content": "opaque"}),
        json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "docs", "input": {"n": 3}}),
        result,
        json!({"type": "something_new", "note": "ab", "text": "xy", "count": 1, "input": {}}),
    ];
    let expected = [
        ModelEvent::ServerTool { tool: "docs/find".into(), query: "{\"n\":3}".into() },
        ModelEvent::NativeContent { format: "anthropic-messages".into(), items },
        ModelEvent::Finish(FinishReason::PauseTurn),
    ];
    assert_eq!(events, expected);
}
