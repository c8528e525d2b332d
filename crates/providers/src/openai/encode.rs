//! The body of a Chat Completions request.

use robota_core::{Body, MessageRef, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use super::dialect::{MaxTokensField, Spoken};
use super::messages::{self, BATCH_END};
use crate::{json, phrasing};

/// Name of the encoded form kept with each message.
const FORMAT: &str = "openai-chat";

/// Fields of the body that this module writes, and `extra_body` therefore must not.
pub(super) const OWN_FIELDS: [&str; 8] = [
    "model",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "messages",
];

/// Writes the body: what stays the same between requests first, the messages last.
pub(super) fn body(
    request: &ModelRequest,
    max_tokens: Option<u32>,
    spoken: Spoken,
    extra: &Map<String, Value>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(json::room_for_body(request));
    out.extend_from_slice(b"{\"model\":");
    json::push(&mut out, &*request.model);
    if let Some(limit) = max_tokens {
        let field = match spoken.max_tokens_field {
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            MaxTokensField::MaxTokens => "max_tokens",
        };
        json::push_field(&mut out, field, &limit);
    }
    json::push_field(&mut out, "stream", &true);
    if spoken.stream_options {
        json::push_field(&mut out, "stream_options", &json!({"include_usage": true}));
    }
    for (name, value) in extra {
        json::push_field(&mut out, name, value);
    }
    push_tools(&mut out, request);
    push_messages(&mut out, &request.system, &request.messages);
    out.push(b'}');
    out
}

fn push_tools(out: &mut Vec<u8>, request: &ModelRequest) {
    if request.tools.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"tools\":");
    json::push_list(out, request.tools.iter(), |out, tool| push_tool(out, tool));
    let choice = match &request.tool_choice {
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
        // What the API does unasked.
        _ => return,
    };
    json::push_field(out, "tool_choice", &choice);
}

fn push_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    let no_arguments = json!({"type": "object", "properties": {}});
    let parameters = if tool.input_schema.is_object() { &tool.input_schema } else { &no_arguments };
    out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
    json::push(out, &tool.name);
    if !tool.description.is_empty() {
        json::push_field(out, "description", &tool.description);
    }
    json::push_field(out, "parameters", parameters);
    out.extend_from_slice(b"}}");
}

/// Writes the messages. Between a batch of calls and the last of its results nothing else may stand,
/// so the images of results wait for the end of the batch. Several user messages in a row stay as they are;
/// a conversation that begins with an answer gets a user message before it, which the chat templates of
/// many servers insist on.
fn push_messages(out: &mut Vec<u8>, system: &str, messages: &[MessageRef]) {
    let mut list = List { out, empty: true };
    list.out.extend_from_slice(b",\"messages\":[");
    if !phrasing::is_blank(system) {
        let mut first = Vec::with_capacity(system.len() + 64);
        json::push(&mut first, &json!({"role": "system", "content": system}));
        list.push(&first);
    }
    let mut begun = false;
    let mut waiting: Vec<u8> = Vec::new();
    for message in messages {
        if !matches!(message.body, Body::Tool { .. }) {
            list.push(&std::mem::take(&mut waiting));
        }
        message.encoded(FORMAT, messages::encode, |bytes| {
            if !begun && !bytes.is_empty() {
                begun = true;
                if matches!(message.body, Body::Assistant { .. }) {
                    list.push(&messages::beginning_missing());
                }
            }
            let Some((now, later)) = split(message, bytes) else { return list.push(bytes) };
            list.push(now);
            if !waiting.is_empty() {
                waiting.push(b',');
            }
            waiting.extend_from_slice(later);
        });
    }
    list.push(&waiting);
    list.out.push(b']');
}

/// The result of a tool and its images.
fn split<'a>(message: &MessageRef, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let Body::Tool { parts, .. } = &message.body else { return None };
    if parts.is_empty() {
        return None;
    }
    let at = bytes.iter().position(|byte| *byte == BATCH_END)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

struct List<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl List<'_> {
    /// Adds one or more encoded messages.
    fn push(&mut self, messages: &[u8]) {
        if messages.is_empty() {
            return;
        }
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(messages);
    }
}
