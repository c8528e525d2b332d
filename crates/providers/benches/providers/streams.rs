//! Long answers as services stream them, in all four APIs.

pub(crate) fn anthropic(deltas: usize) -> String {
    let mut events = vec![
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"model-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#.to_owned(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
    ];
    let delta = |at| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" word{at}"}}}}"#
        )
    };
    events.extend((0..deltas).map(delta));
    events.extend([
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20000}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ]);
    named(&events)
}

/// The events with their types as names.
fn named(events: &[String]) -> String {
    let name = |event: &str| event.split('"').nth(3).map(str::to_owned).unwrap_or_default();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

pub(crate) fn responses(deltas: usize) -> String {
    let response = |kind: &str, status: &str, rest: &str| {
        format!(
            r#"{{"type":"response.{kind}","response":{{"id":"resp_1","object":"response","created_at":1767225600,"status":"{status}","model":"model-1","output":[{rest}]}}}}"#
        )
    };
    let message = |status: &str, content: &str| {
        format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","status":"{status}","content":[{content}]}}"#
        )
    };
    let item = |kind: &str, item: &str| {
        format!(r#"{{"type":"response.output_item.{kind}","output_index":0,"item":{item}}}"#)
    };
    let part = |text: &str| format!(r#"{{"type":"output_text","text":"{text}","annotations":[]}}"#);
    let on_part = |kind: &str, fields: &str| {
        format!(
            r#"{{"type":"response.{kind}","item_id":"msg_1","output_index":0,"content_index":0,{fields}}}"#
        )
    };
    let word = |at: usize| format!(" word{at}");
    let text: String = (0..deltas).map(word).collect();
    let whole = message("completed", &part(&text));
    let mut events = vec![
        response("created", "in_progress", ""),
        item("added", &message("in_progress", "")),
        on_part("content_part.added", &format!(r#""part":{}"#, part(""))),
    ];
    let delta = |at| on_part("output_text.delta", &format!(r#""delta":"{}","logprobs":[]"#, word(at)));
    events.extend((0..deltas).map(delta));
    events.extend([
        on_part("output_text.done", &format!(r#""text":"{text}","logprobs":[]"#)),
        on_part("content_part.done", &format!(r#""part":{}"#, part(&text))),
        item("done", &whole),
        response("completed", "completed", &whole),
    ]);
    named(&events)
}

pub(crate) fn chat(deltas: usize) -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            r#"data: {{"id":"chat_1","object":"chat.completion.chunk","created":1767225600,"model":"model-1","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}]}}"#
        ) + "\n\n"
    };
    let first = chunk(r#"{"role":"assistant","content":""}"#, "null");
    let deltas = (0..deltas).map(|at| chunk(&format!(r#"{{"content":" word{at}"}}"#), "null"));
    let last = chunk("{}", "\"stop\"") + "data: [DONE]\n\n";
    [first].into_iter().chain(deltas).chain([last]).collect()
}

pub(crate) fn gemini(deltas: usize) -> String {
    let chunk = |candidate: &str| {
        format!(
            r#"data: {{"candidates":[{{{candidate},"index":0}}],"usageMetadata":{{"promptTokenCount":10}},"modelVersion":"model-1","responseId":"r1"}}"#
        ) + "\r\n\r\n"
    };
    let delta = |at| chunk(&format!(r#""content":{{"parts":[{{"text":" word{at}"}}],"role":"model"}}"#));
    (0..deltas).map(delta).chain([chunk(r#""finishReason":"STOP""#)]).collect()
}
