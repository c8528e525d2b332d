//! Streamed answers out of arbitrary bytes, and what must hold of whatever a provider reads in them.

#![allow(dead_code, reason = "each target uses a part")]

use std::sync::{Arc, LazyLock};

use robota_core::{ModelEvent, ModelRequest, ToolClass, ToolSpec};
use robota_providers::{ProviderSpec, fuzzing};
use serde_json::json;

/// Frames of an API: well-formed ones, which can come in any order.
pub type Words = &'static [&'static str];

/// What the places of an index in a frame (`@`) and of a text (`~`) are filled with.
const INDEXES: [&str; 4] = ["0", "1", "2", "7"];
const TEXTS: [&str; 8] =
    ["", "a", "{", "{\\\"a\\\":", "1}", "\\n\\n", "\\u00e9\\ud83d\\ude00", "</think><tool_call>"];

/// The body that `input` says: raw when its first byte is even, else frames of `words`. The second byte says where
/// it is cut.
pub fn body(words: Words, input: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [form, cut, rest @ ..] = input else { return None };
    if form % 2 == 0 {
        return Some((rest.to_vec(), usize::from(*cut)));
    }
    let mut body = String::new();
    for pair in rest.chunks_exact(2) {
        let word = words[usize::from(pair[0]) % words.len()];
        let word = word.replace('@', INDEXES[usize::from(pair[1] & 3)]);
        body.push_str(&word.replace('~', TEXTS[usize::from(pair[1] >> 2) % TEXTS.len()]));
        body.push_str("\n\n");
    }
    Some((body.into_bytes(), usize::from(*cut)))
}

/// `body` in pieces of `length` bytes, or whole.
pub fn pieces(body: &[u8], length: usize) -> impl Iterator<Item = &[u8]> {
    body.chunks(if length == 0 { body.len().max(1) } else { length })
}

/// Reads `body` whole and in pieces: both come to the same, and the events are in order.
pub fn read(spec: impl Fn() -> ProviderSpec, body: &[u8], length: usize) {
    let whole = answer(spec(), [body]);
    assert_eq!(whole, answer(spec(), pieces(body, length)));
}

/// Reads two bodies that say the same: both come to the same, and the events are in order.
pub fn compare(spec: impl Fn() -> ProviderSpec, one: &[u8], other: &[u8]) {
    assert_eq!(answer(spec(), [one]), answer(spec(), [other]));
}

fn answer<'a>(spec: ProviderSpec, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<ModelEvent>, bool) {
    let (events, finished) = fuzzing::answer(spec, &REQUEST, chunks).expect("a provider");
    check(&events, finished);
    (joined(events), finished)
}

/// What a session relies on.
fn check(events: &[ModelEvent], finished: bool) {
    let mut calls: Vec<bool> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        match event {
            // A call without a name is one of a tool that does not exist: the session tells the model so.
            ModelEvent::ToolCallStart { index, .. } => {
                assert_eq!(*index, calls.len(), "{events:?}");
                calls.push(true);
            }
            ModelEvent::ToolCallArguments { index, .. } => {
                assert_eq!(calls.get(*index), Some(&true), "{events:?}");
            }
            ModelEvent::ToolCallEnd { index } => {
                assert_eq!(calls.get(*index), Some(&true), "{events:?}");
                calls[*index] = false;
            }
            ModelEvent::Finish(_) => assert_eq!(place, events.len() - 1, "{events:?}"),
            _ => {}
        }
    }
    if finished {
        assert!(matches!(events.last(), Some(ModelEvent::Finish(_))), "{events:?}");
        assert!(!calls.contains(&true), "every call ends: {events:?}");
    }
    let natives = events.iter().filter(|event| matches!(event, ModelEvent::NativeContent { .. }));
    assert!(natives.count() <= 1, "{events:?}");
}

/// `events` with pieces of the same kind joined.
fn joined(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut joined: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(ModelEvent::TextDelta(text)), ModelEvent::TextDelta(more))
            | (Some(ModelEvent::ThinkingDelta(text)), ModelEvent::ThinkingDelta(more)) => text.push_str(&more),
            (
                Some(ModelEvent::ToolCallArguments { index, delta }),
                ModelEvent::ToolCallArguments { index: same, delta: more },
            ) if *index == same => delta.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined
}

static REQUEST: LazyLock<ModelRequest> = LazyLock::new(|| {
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}, "limit": {"type": "integer"}}});
    let tool = |name: &str| Arc::new(ToolSpec::new(name, ToolClass::Inspect, "").with_input_schema(schema.clone()));
    let mut request = ModelRequest::new("model", Vec::new());
    request.tools = Arc::new([tool("Read"), tool("ReadAll")]);
    request
});
