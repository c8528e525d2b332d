//! A content block while it arrives: what it tells the caller, and what of it is to be sent back.

use robota_core::ModelEvent;
use serde_json::{Map, Value};

use super::citation;
use super::frame::Delta;
use crate::wire::Events;

/// One content block.
pub(super) struct Block {
    kind: Kind,
    /// What the start of the block said, without what is kept beside it.
    fields: Map<String, Value>,
    /// The text or the thinking.
    text: String,
    /// A text that comes behind another block, with words before that: it is shown as a paragraph of its own.
    apart: bool,
    signature: String,
    /// Pieces of the JSON that a tool is called with.
    input: String,
    citations: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    /// A call of a tool of the caller's, and its number in the answer.
    Call(usize),
    /// A call of a tool that the service runs itself.
    ServerTool,
    Other,
}

/// What a block is to a history that knows thinking, then text, then calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Thinking,
    Text,
    Calls,
    /// Nowhere: it says what such a history cannot keep.
    Native,
}

impl Block {
    /// Begins the block that starts with `fields`. `apart` says that a text would run into the words before the block
    /// in between, `calls` counts the calls of the answer.
    pub(super) fn begin(
        mut fields: Map<String, Value>,
        apart: bool,
        calls: &mut usize,
        out: &mut Events,
    ) -> Self {
        let kind = match fields.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" | "" => Kind::Text,
            "thinking" => Kind::Thinking,
            "redacted_thinking" => Kind::Redacted,
            "tool_use" => {
                *calls += 1;
                Kind::Call(*calls - 1)
            }
            "server_tool_use" | "mcp_tool_use" => Kind::ServerTool,
            _ => Kind::Other,
        };
        let mut block = Self {
            kind,
            text: String::new(),
            apart,
            signature: String::new(),
            input: String::new(),
            citations: Vec::new(),
            fields: Map::new(),
        };
        let first = match kind {
            Kind::Text => Delta { text: taken(&mut fields, "text"), ..Delta::default() },
            Kind::Thinking => Delta {
                thinking: taken(&mut fields, "thinking"),
                signature: taken(&mut fields, "signature"),
                ..Delta::default()
            },
            _ => Delta::default(),
        };
        let citations = if kind == Kind::Text { fields.shift_remove("citations") } else { None };
        block.fields = fields;
        block.announce(out);
        block.take(first, out);
        for citation in citations.as_ref().and_then(Value::as_array).into_iter().flatten() {
            block.cite(citation.clone(), out);
        }
        block
    }

    pub(super) fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    /// What comes next would run into its words.
    pub(super) fn ends_in_a_word(&self) -> bool {
        self.text.chars().next_back().is_some_and(|last| !last.is_whitespace())
    }

    fn announce(&self, out: &mut Events) {
        match self.kind {
            Kind::Call(index) => {
                out.push_back(ModelEvent::ToolCallStart {
                    index,
                    id: self.field("id").to_owned(),
                    name: self.field("name").to_owned(),
                });
            }
            Kind::Redacted => {
                out.push_back(ModelEvent::RedactedThinking(self.field("data").to_owned()));
            }
            _ => {}
        }
    }

    /// Takes what is added to the block. What does not belong into a block of its kind is left out.
    pub(super) fn take(&mut self, delta: Delta<'_>, out: &mut Events) {
        match self.kind {
            Kind::Text => {
                if let Some(text) = present(delta.text) {
                    self.text.push_str(&text);
                    if std::mem::take(&mut self.apart) && !text.starts_with(char::is_whitespace) {
                        out.push_back(ModelEvent::TextDelta("\n\n".to_owned()));
                    }
                    out.push_back(ModelEvent::TextDelta(text));
                }
                if let Some(citation) = delta.citation {
                    self.cite(citation, out);
                }
            }
            Kind::Thinking => {
                if let Some(thinking) = present(delta.thinking) {
                    self.text.push_str(&thinking);
                    out.push_back(ModelEvent::ThinkingDelta(thinking));
                }
                self.signature.push_str(&delta.signature.unwrap_or_default());
            }
            Kind::Call(index) => {
                if let Some(delta) = present(delta.partial_json) {
                    self.input.push_str(&delta);
                    out.push_back(ModelEvent::ToolCallArguments { index, delta });
                }
            }
            Kind::ServerTool => self.input.push_str(&delta.partial_json.unwrap_or_default()),
            Kind::Redacted => {}
            Kind::Other => {
                self.input.push_str(&delta.partial_json.unwrap_or_default());
                let pieces =
                    [("text", delta.text), ("thinking", delta.thinking), ("signature", delta.signature)];
                for (name, piece) in pieces {
                    if let Some(piece) = present(piece) {
                        append(&mut self.fields, name, Value::String(piece));
                    }
                }
            }
        }
    }

    /// Takes a delta of a type that this version does not know; only blocks it does not know either have such.
    pub(super) fn take_foreign(&mut self, delta: Map<String, Value>) {
        if self.kind != Kind::Other {
            return;
        }
        // A summary comes in one piece, and may be `null` when it failed.
        let whole = delta.get("type").and_then(Value::as_str) == Some("compaction_delta");
        for (name, piece) in delta.into_iter().filter(|(name, _)| name != "type") {
            if whole {
                self.fields.insert(name, piece);
            } else {
                append(&mut self.fields, &name, piece);
            }
        }
    }

    fn cite(&mut self, citation: Value, out: &mut Events) {
        out.extend(citation::event(&citation));
        self.citations.push(citation);
    }

    /// The block is complete: tells what only now can be told.
    pub(super) fn end(&self, out: &mut Events) {
        match self.kind {
            Kind::Thinking => {
                let signature = (!self.signature.is_empty()).then(|| self.signature.clone());
                out.push_back(ModelEvent::ThinkingEnd { signature });
            }
            Kind::Call(index) => {
                // Some gateways put the whole input into the start of the block.
                let early =
                    self.fields.get("input").filter(|input| self.input.is_empty() && !is_empty(input));
                if let Some(input) = early {
                    out.push_back(ModelEvent::ToolCallArguments { index, delta: input.to_string() });
                }
                out.push_back(ModelEvent::ToolCallEnd { index });
            }
            Kind::ServerTool => {
                let tool = match self.field("server_name") {
                    "" => self.field("name").to_owned(),
                    server => format!("{server}/{}", self.field("name")),
                };
                out.push_back(ModelEvent::ServerTool { tool, query: self.query() });
            }
            Kind::Text | Kind::Redacted | Kind::Other => {}
        }
    }

    /// What a server tool was asked, in words where its input has them.
    fn query(&self) -> String {
        let input = self.parsed_input();
        let words = ["query", "url", "command", "code"];
        let words = words.into_iter().find_map(|field| input.get(field)?.as_str().map(str::to_owned));
        words.unwrap_or_else(|| if is_empty(&input) { self.input.clone() } else { input.to_string() })
    }

    /// Where the block belongs in a history; `None` for one that is not sent back at all: the API refuses text without
    /// words and thinking without its signature.
    pub(super) fn place(&self) -> Option<Place> {
        let plain = |known: &[&str]| {
            let other =
                |(name, value): (&String, &Value)| !known.contains(&name.as_str()) && !value.is_null();
            !self.fields.iter().any(other)
        };
        let (place, plain) = match self.kind {
            Kind::Text if self.text.trim().is_empty() => return None,
            Kind::Text => (Place::Text, self.citations.is_empty() && plain(&["type"])),
            Kind::Thinking if self.signature.is_empty() => return None,
            Kind::Thinking => (Place::Thinking, plain(&["type"])),
            Kind::Redacted => (Place::Thinking, plain(&["type", "data"])),
            Kind::Call(_) => {
                let called_by_model = self
                    .fields
                    .get("caller")
                    .and_then(|caller| caller.get("type"))
                    .is_none_or(|kind| kind == "direct");
                (Place::Calls, called_by_model && plain(&["type", "id", "name", "input", "caller"]))
            }
            Kind::ServerTool | Kind::Other => (Place::Native, true),
        };
        Some(if plain { place } else { Place::Native })
    }

    /// The block as it is sent back.
    pub(super) fn into_item(mut self) -> Value {
        match self.kind {
            Kind::Text => {
                self.fields.insert("type".into(), "text".into());
                self.fields.insert("text".into(), self.text.into());
                if !self.citations.is_empty() {
                    self.fields.insert("citations".into(), self.citations.into());
                }
            }
            Kind::Thinking => {
                self.fields.insert("thinking".into(), self.text.into());
                self.fields.insert("signature".into(), self.signature.into());
            }
            Kind::Call(_) | Kind::ServerTool => {
                let input = self.parsed_input();
                self.fields.insert("input".into(), input);
            }
            Kind::Other if !self.input.is_empty() => {
                let input = self.parsed_input();
                self.fields.insert("input".into(), input);
            }
            Kind::Redacted | Kind::Other => {}
        }
        Value::Object(self.fields)
    }

    /// The input of a call: an object, even where the model did not write one.
    fn parsed_input(&self) -> Value {
        let written = match self.input.trim() {
            "" => self.fields.get("input").cloned(),
            text => serde_json::from_str(text).ok(),
        };
        written.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()))
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

fn present(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(Map::is_empty)
}

fn taken(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.shift_remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Adds text to text, and puts everything else in the place of what was there.
fn append(fields: &mut Map<String, Value>, name: &str, piece: Value) {
    match (fields.get_mut(name), piece) {
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(known), piece) => *known = piece,
        (None, piece) => {
            fields.insert(name.to_owned(), piece);
        }
    }
}
