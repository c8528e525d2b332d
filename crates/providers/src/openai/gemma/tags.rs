//! Calls as tags: `<Read><filePath>a</filePath></Read>`, `<Read>{"filePath":"a"}</Read>`, `<Read filePath="a"/>`.

use robota_core::ToolSpec;
use serde_json::{Map, Value};

use super::literal::Cursor;

/// The arguments between the tags of `tool`; `None` when they are none.
pub(super) fn content(content: &str, tool: &ToolSpec) -> Option<Map<String, Value>> {
    let content = content.trim();
    if content.starts_with('{') {
        return serde_json::from_str(content).ok();
    }
    let mut cursor = Cursor(content);
    let mut arguments = Map::new();
    while cursor.take("<") {
        let name = cursor.name()?;
        if !cursor.0.starts_with('>') {
            return None;
        }
        cursor.take(">");
        let value = cursor.until(&format!("</{name}>"))?;
        // Values on lines of their own are written without these.
        let value = value.strip_prefix('\n').map_or(value, |value| value.strip_suffix('\n').unwrap_or(value));
        arguments.insert(name.to_owned(), typed(value, name, tool));
    }
    cursor.is_done().then_some(arguments)
}

/// The arguments in the opening tag of `tool`.
pub(super) fn attributes(text: &str, tool: &ToolSpec) -> Option<Map<String, Value>> {
    let mut cursor = Cursor(text);
    let mut arguments = Map::new();
    while !cursor.is_done() {
        let name = cursor.name()?;
        if !cursor.take("=") {
            return None;
        }
        cursor.space();
        let quote = if cursor.take("\"") {
            "\""
        } else if cursor.take("'") {
            "'"
        } else {
            return None;
        };
        arguments.insert(name.to_owned(), typed(cursor.until(quote)?, name, tool));
    }
    Some(arguments)
}

/// The value in the type that the tool declares: a string, unless it wants something else.
fn typed(text: &str, argument: &str, tool: &ToolSpec) -> Value {
    let declared = tool.input_schema.get("properties").and_then(|properties| properties.get(argument));
    let kind = declared.and_then(|schema| schema.get("type")).and_then(Value::as_str);
    match kind {
        None | Some("string") => text.into(),
        Some(_) => serde_json::from_str(text.trim()).unwrap_or_else(|_| text.into()),
    }
}
