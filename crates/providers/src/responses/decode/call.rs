//! One tool call while it arrives.

use robota_core::ModelEvent;
use serde_json::{Value, json};

use crate::wire::Events;

/// A call of the answer. It is shown from when its name is known.
#[derive(Default)]
pub(super) struct Call {
    number: Option<usize>,
    id: String,
    name: String,
    /// Arguments that came before the name.
    early: String,
    /// Arguments that came with the announcement, in case none come after it.
    announced: String,
    /// The text a custom tool is called with.
    input: Option<String>,
    written: bool,
    ended: bool,
}

impl Call {
    /// Learns what the item says of the call, and starts it.
    pub(super) fn announce(&mut self, item: &Value, started: &mut usize, out: &mut Events) {
        let text = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default();
        if self.id.is_empty() {
            text("call_id").clone_into(&mut self.id);
        }
        if item.get("type").is_some_and(|kind| kind == "custom_tool_call") && self.input.is_none() {
            self.input = Some(String::new());
        }
        self.announced = arguments(item);
        self.call(text("name"), started, out);
    }

    /// Starts the call when it has a name now.
    pub(super) fn call(&mut self, name: &str, started: &mut usize, out: &mut Events) {
        if self.number.is_none() && !name.is_empty() {
            name.clone_into(&mut self.name);
            self.start(started, out);
        }
    }

    fn start(&mut self, started: &mut usize, out: &mut Events) {
        let index = *started;
        *started += 1;
        self.number = Some(index);
        out.push_back(ModelEvent::ToolCallStart { index, id: self.id.clone(), name: self.name.clone() });
        if !self.early.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index, delta: std::mem::take(&mut self.early) });
        }
    }

    /// More arguments.
    pub(super) fn write(&mut self, delta: String, out: &mut Events) {
        if delta.is_empty() || self.ended {
            return;
        }
        self.written = true;
        match self.number {
            Some(index) => out.push_back(ModelEvent::ToolCallArguments { index, delta }),
            None => self.early.push_str(&delta),
        }
    }

    /// All arguments; they count only where none came before.
    pub(super) fn write_whole(&mut self, arguments: String, out: &mut Events) {
        if !self.written {
            self.write(arguments, out);
        }
    }

    /// More, or all, of the text a custom tool is called with.
    pub(super) fn input(&mut self, text: &str, whole: bool) {
        let input = self.input.get_or_insert_default();
        if !whole || input.is_empty() {
            input.push_str(text);
        }
    }

    /// The call is complete.
    pub(super) fn end(&mut self, started: &mut usize, out: &mut Events) {
        if self.ended {
            return;
        }
        if let Some(input) = self.input.take().filter(|input| !input.is_empty()) {
            self.write_whole(json!({"input": input}).to_string(), out);
        }
        let announced = std::mem::take(&mut self.announced);
        self.write_whole(announced, out);
        if self.number.is_none() && self.written {
            // Arguments for no tool: the model is told that there is none of this name.
            self.start(started, out);
        }
        self.ended = true;
        out.extend(self.number.map(|index| ModelEvent::ToolCallEnd { index }));
    }

    /// Number of the call and its id, when it was shown.
    pub(super) fn shown(&self) -> Option<(usize, &str)> {
        self.number.map(|number| (number, self.id.as_str()))
    }
}

/// The arguments in an item: JSON text by the book, or an object.
fn arguments(item: &Value) -> String {
    match (item.get("arguments"), item.get("input").and_then(Value::as_str)) {
        (Some(Value::String(text)), _) => text.clone(),
        (None | Some(Value::Null), Some(input)) if !input.is_empty() => json!({"input": input}).to_string(),
        (None | Some(Value::Null), _) => String::new(),
        (Some(arguments), _) => arguments.to_string(),
    }
}

/// The item of a call as it can be sent again: a call of a custom tool becomes one of a function, which is what its
/// result will be for.
pub(super) fn as_function_call(mut item: Value) -> Value {
    if item.get("type").is_none_or(|kind| kind != "custom_tool_call") {
        return item;
    }
    let arguments = arguments(&item);
    if let Some(fields) = item.as_object_mut() {
        fields.remove("input");
        // Its id tells what kind of item it is.
        fields.remove("id");
        fields.insert("type".to_owned(), "function_call".into());
        fields.insert("arguments".to_owned(), arguments.into());
    }
    item
}
