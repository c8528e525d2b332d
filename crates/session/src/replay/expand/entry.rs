//! One log entry while it is filled in.

use robota_core::Event;
use serde::Serialize;
use serde_json::{Map, Value};

/// The fields of a log entry.
pub(super) struct Entry(Map<String, Value>);

impl Entry {
    /// The entry of `event` as the log has it.
    pub(super) fn of(event: &Event) -> Self {
        match serde_json::to_value(event) {
            Ok(Value::Object(fields)) => Self(fields),
            // An event is an object, and has nothing in it that could not be JSON.
            _ => Self(Map::new()),
        }
    }

    /// An entry called `name` that `event` implies.
    pub(super) fn beside(event: &Event, name: &str) -> Self {
        let mut entry = Self(Map::new());
        entry.set("seq", event.seq);
        entry.set("timestamp", event.timestamp);
        entry.set("sessionId", &event.session_id);
        entry.set("turn", event.turn);
        entry.set("event", name);
        entry.executed_by(event);
        entry
    }

    /// Sets a field; one that is there keeps its place.
    pub(super) fn set(&mut self, field: &str, value: impl Serialize) {
        self.0.insert(field.to_owned(), serde_json::to_value(value).unwrap_or_default());
    }

    /// Sets the id of the turn.
    pub(super) fn executed_by(&mut self, event: &Event) {
        if let Some(id) = execution_id(event) {
            self.set("executionId", id);
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// The id of the turn that `event` belongs to.
pub(super) fn execution_id(event: &Event) -> Option<String> {
    (event.turn > 0).then(|| format!("{}:{}", event.session_id, event.turn))
}
