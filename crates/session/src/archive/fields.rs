//! Finds the field that is to blame: what does not decode is gone through again, field by field.

use std::fmt::Write;

use robota_core::{SessionId, Timestamp};
use serde_json::{Map, Value};

use super::ImportError;
use crate::session_name;

/// The highest turn number that is taken over; more than any session has, and far from overflowing.
pub(super) const MOST_TURNS: u32 = 1_000_000_000;

type Checked<T = ()> = Result<T, ImportError>;

/// Which field makes `value`, which stands at `path`, no message.
pub(super) fn blame_message(path: &str, value: &Value) -> ImportError {
    match message(path, value) {
        Err(error) => error,
        Ok(()) => ImportError::field(path, "a message", shown(value)),
    }
}

/// Which field makes `value`, which stands at `path`, no entry of a timeline.
pub(super) fn blame_entry(path: &str, value: &Value) -> ImportError {
    match entry(path, value) {
        Err(error) => error,
        Ok(()) => ImportError::field(path, "an entry of a timeline", shown(value)),
    }
}

/// Checks what every event has: envelope and name.
pub(super) fn event(path: &str, value: &Value, session: &SessionId) -> Checked {
    let object = object(path, value, "an event, which is an object")?;
    let seq = format!("{path}.seq");
    require(&seq, object.get("seq"), "a whole number", |value| value.as_u64().is_some())?;
    time(path, "timestamp", object)?;
    let whose = |value: &Value| value.as_str() == Some(session.as_str());
    let own = format!("`{session}`, the id of the record");
    require(&format!("{path}.sessionId"), object.get("sessionId"), &own, whose)?;
    let turn = |value: &Value| value.as_u64().is_some_and(|turn| turn <= u64::from(MOST_TURNS));
    optional(&format!("{path}.turn"), object.get("turn"), "the number of a turn", turn)?;
    text(path, "event", object).map(drop)
}

/// Checks the fields of a record that are neither messages nor timeline; says which session it is of.
pub(super) fn record(path: &str, object: &Map<String, Value>) -> Checked<SessionId> {
    let id = text(path, "id", object)?;
    let id = id.parse().map_err(|_| {
        let form = "1 to 128 of A-Z, a-z, 0-9, `.`, `_` and `-`, beginning with a letter or a digit";
        ImportError::field(format!("{path}.id"), form, format!("\"{id}\""))
    })?;
    text(path, "cwd", object)?;
    time(path, "createdAt", object)?;
    time(path, "updatedAt", object)?;
    for field in ["name", "systemPrompt"] {
        optional(&format!("{path}.{field}"), object.get(field), "a string", Value::is_string)?;
    }
    let name = object.get("name").and_then(Value::as_str);
    session_name::kept(name).map_err(|_| {
        ImportError::field(format!("{path}.name"), "a name of at most 200 characters", "a longer one")
    })?;
    let from = |value: &Value| value.as_str().is_some_and(|id| id.parse::<SessionId>().is_ok());
    optional(&format!("{path}.forkedFrom"), object.get("forkedFrom"), "the id of a session", from)?;
    optional(&format!("{path}.toolSchemas"), object.get("toolSchemas"), "an array", Value::is_array)?;
    Ok(id)
}

/// Whether the time can be written down: some numbers are none.
pub(super) fn is_time(time: Timestamp) -> bool {
    write!(String::new(), "{time}").is_ok()
}

/// What a value is, for a person.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    }
}

fn message(path: &str, value: &Value) -> Checked {
    let object = object(path, value, "a message, which is an object")?;
    text(path, "id", object)?;
    time(path, "timestamp", object)?;
    let at = |field: &str| format!("{path}.{field}");
    let state = |value: &Value| matches!(value.as_str(), Some("complete" | "interrupted"));
    optional(&at("state"), object.get("state"), "complete or interrupted", state)?;
    optional(&at("metadata"), object.get("metadata"), "an object", Value::is_object)?;
    let role = |value: &Value| matches!(value.as_str(), Some("user" | "assistant" | "system" | "tool"));
    require(&at("role"), object.get("role"), "user, assistant, system or tool", role)?;
    match object.get("role").and_then(Value::as_str) {
        Some("assistant") => optional(&at("content"), object.get("content"), "a string", Value::is_string)?,
        Some("tool") => {
            text(path, "content", object)?;
            text(path, "toolCallId", object)?;
        }
        _ => drop(text(path, "content", object)?),
    }
    let is_error = at("isError");
    require_if_there(&is_error, object.get("isError"), "true or false", Value::is_boolean)?;
    for field in ["parts", "reasoning"] {
        require_if_there(&at(field), object.get(field), "an array", Value::is_array)?;
    }
    let calls = at("toolCalls");
    require_if_there(&calls, object.get("toolCalls"), "an array", Value::is_array)?;
    for (index, call) in object.get("toolCalls").and_then(Value::as_array).into_iter().flatten().enumerate() {
        tool_call(&format!("{calls}[{index}]"), call)?;
    }
    Ok(())
}

fn tool_call(path: &str, value: &Value) -> Checked {
    let call = object(path, value, "a tool call, which is an object")?;
    text(path, "id", call)?;
    let at = format!("{path}.function");
    let function = object(&at, call.get("function").unwrap_or(&Value::Null), "an object")?;
    text(&at, "name", function)?;
    require_if_there(&format!("{at}.arguments"), function.get("arguments"), "a string", Value::is_string)
}

fn entry(path: &str, value: &Value) -> Checked {
    let object = object(path, value, "an entry of the timeline, which is an object")?;
    text(path, "id", object)?;
    time(path, "timestamp", object)?;
    let category = format!("{path}.category");
    let known = |value: &Value| matches!(value.as_str(), Some("chat" | "event"));
    require(&category, object.get("category"), "chat or event", known)?;
    text(path, "type", object)?;
    let data = object.get("data").unwrap_or(&Value::Null);
    let is_chat = object.get("category").and_then(Value::as_str) == Some("chat");
    let looks = message(&format!("{path}.data"), data);
    match (is_chat, looks) {
        (true, looks) => looks,
        (false, Ok(())) => {
            Err(ImportError::field(format!("{path}.data"), "the data of an event", "a message"))
        }
        (false, Err(_)) => Ok(()),
    }
}

fn object<'a>(path: &str, value: &'a Value, expected: &str) -> Checked<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| ImportError::field(path, expected, shown(value)))
}

fn text<'a>(path: &str, field: &str, object: &'a Map<String, Value>) -> Checked<&'a str> {
    let at = format!("{path}.{field}");
    require(&at, object.get(field), "a string", Value::is_string)?;
    Ok(object.get(field).and_then(Value::as_str).unwrap_or_default())
}

fn time(path: &str, field: &str, object: &Map<String, Value>) -> Checked {
    let is_time = |value: &Value| match value {
        Value::String(text) => text.parse::<Timestamp>().is_ok_and(is_time),
        Value::Number(millis) => millis.as_i64().map(Timestamp::from_millis).is_some_and(is_time),
        _ => false,
    };
    let expected = "a time such as 2026-11-21T22:48:00.000Z, or milliseconds since 1970";
    require(&format!("{path}.{field}"), object.get(field), expected, is_time)
}

fn require(path: &str, value: Option<&Value>, expected: &str, right: impl FnOnce(&Value) -> bool) -> Checked {
    match value {
        Some(value) if right(value) => Ok(()),
        Some(value) => Err(ImportError::field(path, expected, shown(value))),
        None => Err(ImportError::field(path, expected, "nothing")),
    }
}

/// May be missing, but not be `null`.
fn require_if_there(
    path: &str,
    value: Option<&Value>,
    expected: &str,
    right: impl FnOnce(&Value) -> bool,
) -> Checked {
    if value.is_none() { Ok(()) } else { require(path, value, expected, right) }
}

/// May be missing or `null`.
fn optional(
    path: &str,
    value: Option<&Value>,
    expected: &str,
    right: impl FnOnce(&Value) -> bool,
) -> Checked {
    require_if_there(path, value.filter(|value| !value.is_null()), expected, right)
}
