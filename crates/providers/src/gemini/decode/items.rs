//! The parts of an answer in their order, for the native content.

use serde_json::{Map, Value};

/// The parts so far. Text that came in pieces is one part again.
#[derive(Default)]
pub(super) struct Items {
    items: Vec<Item>,
    /// They say more than the neutral events do.
    needed: bool,
}

enum Item {
    Text { text: String, thought: bool, signature: Option<String> },
    Call(Value),
    Other(Value),
}

impl Items {
    /// Takes a piece of text. A summary of thoughts is not sent back, unless there is proof with it.
    pub(super) fn text(&mut self, piece: &str, thought: bool, signature: Option<String>) {
        if signature.is_none() {
            if thought || piece.is_empty() {
                return;
            }
            match self.items.last_mut() {
                Some(Item::Text { text, thought: false, signature: None }) => return text.push_str(piece),
                // Text after a call.
                Some(Item::Call(_)) => self.needed = true,
                _ => {}
            }
        }
        self.needed |= signature.is_some();
        self.items.push(Item::Text { text: piece.to_owned(), thought, signature });
    }

    /// Takes a call.
    pub(super) fn call(&mut self, call: Map<String, Value>, signature: Option<String>) {
        let mut part = Map::new();
        part.insert("functionCall".to_owned(), call.into());
        if let Some(signature) = signature {
            part.insert("thoughtSignature".to_owned(), signature.into());
            self.needed = true;
        }
        self.items.push(Item::Call(part.into()));
    }

    /// Takes a part that no neutral event stands for.
    pub(super) fn other(&mut self, part: Value) {
        self.needed = true;
        self.items.push(Item::Other(part));
    }

    /// All parts, if they say more than the neutral events.
    pub(super) fn needed(self) -> Option<Vec<Value>> {
        self.needed.then(|| self.items.into_iter().map(Item::into_value).collect())
    }
}

impl Item {
    fn into_value(self) -> Value {
        match self {
            Self::Text { text, thought, signature } => {
                let mut part = Map::new();
                part.insert("text".to_owned(), text.into());
                if thought {
                    part.insert("thought".to_owned(), true.into());
                }
                if let Some(signature) = signature {
                    part.insert("thoughtSignature".to_owned(), signature.into());
                }
                Value::Object(part)
            }
            Self::Call(part) | Self::Other(part) => part,
        }
    }
}
