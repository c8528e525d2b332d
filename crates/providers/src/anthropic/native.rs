//! Answers that are sent back in the API's own words.

use robota_core::{MessageState, Part, ToolCall};
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
        let mut map = serializer.serialize_map(Some(self.item.len()))?;
        for (name, value) in self.item {
            match name.as_str() {
                "id" => map.serialize_entry(name, &carried::id(&call.id))?,
                "name" => map.serialize_entry(name, &carried::name(value.as_str().unwrap_or(&call.name)))?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}
