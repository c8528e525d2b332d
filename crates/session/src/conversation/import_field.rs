//! One field of an export that is read, and what is wrong with it.

use serde_json::{Map, Value};

use crate::printable::printable;

/// How much of a text is shown in an error, in characters.
const SHOWN: usize = 40;

/// Why something is no export of a conversation: which field, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an export of a conversation: `{field}`: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct ImportError {
    /// The field, such as `state.history.items[2].role`; `.` for the export as a whole.
    pub field: String,
    /// What was expected there.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl ImportError {
    pub(super) fn new(
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), expected: expected.into(), found: found.into() }
    }
}

/// A value with its place in the export.
pub(super) struct Field<'a> {
    pub(super) path: String,
    /// `None` where there is nothing.
    pub(super) value: Option<&'a Value>,
}

/// The fields of an object.
pub(super) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Field<'a> {
    /// The export as a whole.
    pub(super) fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value: Some(value) }
    }

    /// The error that `expected` should have stood here.
    pub(super) fn expected(&self, expected: impl Into<String>) -> ImportError {
        let field = if self.path.is_empty() { "." } else { &self.path };
        ImportError::new(field, expected, self.value.map_or("nothing".to_owned(), shown))
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    /// An object with the fields `known`, and no other.
    pub(super) fn object_of(&self, known: &[&str]) -> Result<Fields<'a>, ImportError> {
        let fields = self.object()?;
        match fields.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(other) => Err(fields.unknown(other, known)),
            None => Ok(fields),
        }
    }

    pub(super) fn object(&self) -> Result<Fields<'a>, ImportError> {
        match self.value {
            Some(Value::Object(map)) => Ok(Fields { path: self.path.clone(), map }),
            _ => Err(self.expected("an object")),
        }
    }

    /// The members of a list.
    pub(super) fn list(&self) -> Result<impl Iterator<Item = Self>, ImportError> {
        let Some(Value::Array(items)) = self.value else { return Err(self.expected("a list")) };
        let place = |(at, value)| Self { path: format!("{}[{at}]", self.path), value: Some(value) };
        Ok(items.iter().enumerate().map(place))
    }

    /// A text in which there is something.
    pub(super) fn text(&self) -> Result<&'a str, ImportError> {
        let text = self.value.and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| self.expected("a text that is not empty"))
    }

    /// A number that counts something.
    pub(super) fn count(&self) -> Result<u64, ImportError> {
        self.value.and_then(Value::as_u64).ok_or_else(|| self.expected("a whole number from 0 on"))
    }
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, name: &str) -> Field<'a> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Field { path, value: self.map.get(name) }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.map.keys().map(String::as_str)
    }

    /// The error that the field `name` is none of the `known`.
    pub(super) fn unknown(&self, name: &str, known: &[&str]) -> ImportError {
        let field = self.get(&clipped(name));
        ImportError::new(field.path, format!("only {}", known.join(", ")), "a field of another format")
    }
}

/// The value for an error: short, and harmless for a terminal.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("`{}`", clipped(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn clipped(text: &str) -> String {
    let mut shown: String = printable(text).chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
