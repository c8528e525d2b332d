//! Answers that are sent back in the API's own words.

use std::collections::HashSet;

use robota_core::{Body, Message, MessageState, Part, ToolCall};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::FORMAT;
use super::encoded::Blocks;
use crate::carried;

/// The blocks of the answer as the API wrote them; `None` where the rest of the message is to be sent. That is so for
/// answers that were cut off, and where calls have been taken away since.
pub(super) fn items<'a>(
    state: MessageState,
    parts: &'a [Part],
    calls: &[ToolCall],
) -> Option<Vec<&'a Map<String, Value>>> {
    if state != MessageState::Complete {
        return None;
    }
    let items = parts.iter().find_map(|part| match part {
        Part::Native { format, items } if format == FORMAT => Some(items),
        _ => None,
    })?;
    let items: Vec<_> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let called = items.iter().filter(|item| is_call(item)).count();
    (called == calls.len() && !items.is_empty()).then_some(items)
}

/// Appends the blocks, the calls under the ids that they have in the message.
pub(super) fn push(items: &[&Map<String, Value>], calls: &[ToolCall], blocks: &mut Blocks) {
    let mut calls = calls.iter();
    for item in items {
        let call = if is_call(item) { calls.next() } else { None };
        blocks.push(&Item { item, call }, carries_breakpoint(kind(item)));
    }
}

/// The calls of the service's own tools in an answer without other calls, and the ids of those that have results.
///
/// An answer breaks off between the two when it was paused, or ended by its length. It goes on when it is sent back as
/// it is; when something else comes after it, the service refuses a call without its result.
pub(super) fn server_calls(message: &Message) -> (HashSet<&str>, HashSet<&str>) {
    let Body::Assistant { parts, tool_calls, .. } = &message.body else { return Default::default() };
    let items = items(message.state, parts, tool_calls).unwrap_or_default();
    let (mut calls, mut results) = (HashSet::new(), HashSet::new());
    for item in items {
        match kind(item) {
            "server_tool_use" | "mcp_tool_use" if tool_calls.is_empty() => {
                calls.extend(item.get("id").and_then(Value::as_str));
            }
            _ => results.extend(item.get("tool_use_id").and_then(Value::as_str)),
        }
    }
    (calls, results)
}

fn is_call(item: &Map<String, Value>) -> bool {
    kind(item) == "tool_use"
}

fn kind(item: &Map<String, Value>) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Whether blocks of that type take a breakpoint: those known to; thinking does not.
fn carries_breakpoint(kind: &str) -> bool {
    matches!(kind, "text" | "tool_use" | "server_tool_use" | "mcp_tool_use" | "mcp_tool_result")
        || kind.ends_with("_tool_result")
}

struct Item<'a> {
    item: &'a Map<String, Value>,
    call: Option<&'a ToolCall>,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(call) = self.call else { return self.item.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.item {
            if !matches!(name.as_str(), "id" | "name" | "input") {
                map.serialize_entry(name, value)?;
            }
        }
        // A call without one of these would be refused, and so would a name that no tool can have.
        let name = self.item.get("name").and_then(Value::as_str).unwrap_or(&call.name);
        map.serialize_entry("id", &carried::id(&call.id))?;
        map.serialize_entry("name", &carried::name(name))?;
        match self.item.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()))
        {
            Some(input) => map.serialize_entry("input", input)?,
            // Nothing, or what could not be read as it came and was mended before the tool ran.
            None => map.serialize_entry("input", &carried::raw_arguments(&call.arguments))?,
        }
        map.end()
    }
}
