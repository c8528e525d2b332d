//! What the events of an answer come to.

use robota_core::{
    Body, FinishReason, Message, MessageRef, ModelEvent, Part, Reasoning, Timestamp, ToolCall, Usage,
};

pub(crate) use crate::api::text;

/// The events that carry the answer: no ids of requests, no native payloads, and pieces of the same kind joined.
pub(crate) fn content(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let mut content: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (content.last_mut(), event) {
            (_, ModelEvent::Started { .. } | ModelEvent::Raw { .. } | ModelEvent::NativeContent { .. }) => {}
            (Some(ModelEvent::TextDelta(text)), ModelEvent::TextDelta(more))
            | (Some(ModelEvent::ThinkingDelta(text)), ModelEvent::ThinkingDelta(more)) => text.push_str(more),
            (
                Some(ModelEvent::ToolCallArguments { index, delta }),
                ModelEvent::ToolCallArguments { index: same, delta: more },
            ) if index == same => delta.push_str(more),
            _ => content.push(event.clone()),
        }
    }
    content
}

/// The thinking.
pub(crate) fn thinking(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::ThinkingDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The calls: id, name and joined arguments. Each is begun once, in order, and ended once.
pub(crate) fn calls(events: &[ModelEvent]) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut ended = Vec::new();
    for event in events {
        match event {
            ModelEvent::ToolCallStart { index, id, name } => {
                assert_eq!(*index, calls.len());
                calls.push((id.clone(), name.clone(), String::new()));
            }
            ModelEvent::ToolCallArguments { index, delta } => {
                assert!(!ended.contains(index));
                calls[*index].2.push_str(delta);
            }
            ModelEvent::ToolCallEnd { index } => {
                assert!(*index < calls.len() && !ended.contains(index));
                ended.push(*index);
            }
            _ => {}
        }
    }
    assert_eq!(ended.len(), calls.len(), "{events:?}");
    calls
}

/// Why the answer ended; the finish is the last event, and there is one.
pub(crate) fn finish(events: &[ModelEvent]) -> FinishReason {
    let finishes = events.iter().filter(|event| matches!(event, ModelEvent::Finish(_)));
    assert_eq!(finishes.count(), 1, "{events:?}");
    match events.last() {
        Some(ModelEvent::Finish(reason)) => reason.clone(),
        _ => panic!("something comes after the finish: {events:?}"),
    }
}

/// The last token counts.
pub(crate) fn usage(events: &[ModelEvent]) -> Option<Usage> {
    events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    })
}

/// The message that a history keeps of the answer of `provider`.
pub(crate) fn message(events: &[ModelEvent], provider: &str) -> MessageRef {
    let (mut reasoning, mut parts, mut thinking) = (Vec::new(), Vec::new(), String::new());
    let thought = |text: String, signature, redacted| Reasoning {
        provider: provider.into(),
        text,
        signature,
        redacted,
    };
    for event in events {
        match event {
            ModelEvent::ThinkingDelta(delta) => thinking.push_str(delta),
            ModelEvent::ThinkingEnd { signature } => {
                reasoning.push(thought(std::mem::take(&mut thinking), signature.clone(), None));
            }
            ModelEvent::RedactedThinking(data) => {
                reasoning.push(thought(String::new(), None, Some(data.clone())));
            }
            ModelEvent::NativeContent { format, items } => {
                parts.push(Part::Native { format: format.clone(), items: items.clone() });
            }
            _ => {}
        }
    }
    let calls = calls(events).into_iter();
    let tool_calls = calls.map(|(id, name, arguments)| ToolCall { id, name, arguments }).collect();
    let text = text(events);
    let content = (!text.is_empty()).then_some(text);
    let body = Body::Assistant { content, parts, tool_calls, reasoning };
    Message::with_body("answer", Timestamp::default(), body).into()
}
