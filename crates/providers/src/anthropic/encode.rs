//! The body of a Messages request.

use robota_core::{Body, MessageRef, ModelRequest, ToolChoice, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::blocks;
use crate::{json, phrasing};

/// Marks the end of a prefix that the service shall keep in its prompt cache.
const CACHE_CONTROL: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;

/// Name of the encoded form kept with each message.
const FORMAT: &str = "anthropic-messages";

/// Fields of the body that this module writes, and `extra_body` therefore must not.
pub(super) const OWN_FIELDS: [&str; 7] =
    ["model", "max_tokens", "stream", "tools", "tool_choice", "system", "messages"];

/// Writes the body: what stays the same between requests first, the messages last.
///
/// At most four breakpoints for the prompt cache: after the tools, after the system prompt, after the
/// last message, and after the last user message before it. The latter is where the previous round
/// ended, so each round finds there what the previous one has written to the cache.
pub(super) fn body(request: &ModelRequest, default_max_tokens: u32, extra: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::with_capacity(json::room_for_body(request));
    out.extend_from_slice(b"{\"model\":");
    json::push(&mut out, &*request.model);
    json::push_field(&mut out, "max_tokens", &request.max_output_tokens.unwrap_or(default_max_tokens));
    json::push_field(&mut out, "stream", &true);
    for (name, value) in extra {
        json::push_field(&mut out, name, value);
    }
    push_tools(&mut out, request);
    if !phrasing::is_blank(&request.system) {
        out.extend_from_slice(b",\"system\":[");
        json::push(&mut out, &json!({"type": "text", "text": &*request.system}));
        mark(&mut out);
        out.push(b']');
    }
    push_messages(&mut out, &request.messages);
    out.push(b'}');
    out
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

fn push_tools(out: &mut Vec<u8>, request: &ModelRequest) {
    let Some(last) = request.tools.len().checked_sub(1) else { return };
    out.extend_from_slice(b",\"tools\":");
    json::push_list(out, request.tools.iter().enumerate(), |out, (at, tool)| {
        push_tool(out, tool);
        if at == last {
            mark(out);
        }
    });
    let choice = match &request.tool_choice {
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
        // What the API does unasked.
        _ => return,
    };
    json::push_field(out, "tool_choice", &choice);
}

fn push_tool(out: &mut Vec<u8>, tool: &ToolSpec) {
    let no_arguments = json!({"type": "object", "properties": {}});
    let input_schema = if tool.input_schema.is_object() { &tool.input_schema } else { &no_arguments };
    json::push(out, &Tool { name: &tool.name, description: &tool.description, input_schema });
}

/// Sets a breakpoint on the object that `out` ends with.
fn mark(out: &mut Vec<u8>) {
    if out.pop_if(|last| *last == b'}').is_some() {
        out.extend_from_slice(CACHE_CONTROL);
    }
}

/// Writes the messages. The API wants the two roles in turns, so neighbours of one role become one
/// message; in a user message the results of tools come first.
fn push_messages(out: &mut Vec<u8>, messages: &[MessageRef]) {
    let sent: Vec<&MessageRef> = messages.iter().filter(|message| blocks::has_blocks(message)).collect();
    let turns: Vec<&[&MessageRef]> = sent.chunk_by(|a, b| is_answer(a) == is_answer(b)).collect();
    let last = turns.len().saturating_sub(1);
    let before_last =
        turns.iter().enumerate().rev().skip(1).find(|(_, turn)| !starts_with_answer(turn)).map(|(at, _)| at);

    out.extend_from_slice(b",\"messages\":[");
    if turns.first().is_some_and(|turn| starts_with_answer(turn)) {
        let missing = json!({"type": "text", "text": phrasing::BEGINNING_MISSING});
        json::push(out, &json!({"role": "user", "content": [missing]}));
        out.push(b',');
    }
    for (at, turn) in turns.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_turn(out, turn, at == last || Some(at) == before_last);
    }
    out.push(b']');
}

fn push_turn(out: &mut Vec<u8>, turn: &[&MessageRef], breakpoint: bool) {
    let role = if starts_with_answer(turn) { "assistant" } else { "user" };
    out.extend_from_slice(b"{\"role\":");
    json::push(out, role);
    out.extend_from_slice(b",\"content\":");
    let results = turn.iter().filter(|message| is_result(message));
    let others = turn.iter().filter(|message| !is_result(message));
    json::push_list(out, results.chain(others), |out, message| {
        message.encoded(FORMAT, blocks::encode, |bytes| out.extend_from_slice(bytes));
    });
    if breakpoint && out.pop_if(|last| *last == b']').is_some() {
        mark(out);
        out.push(b']');
    }
    out.push(b'}');
}

fn is_answer(message: &MessageRef) -> bool {
    matches!(message.body, Body::Assistant { .. })
}

fn is_result(message: &MessageRef) -> bool {
    matches!(message.body, Body::Tool { .. })
}

fn starts_with_answer(turn: &[&MessageRef]) -> bool {
    turn.first().is_some_and(|message| is_answer(message))
}
