//! One event, read as far as it is what it should be.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Response;
use super::places::Place;

/// The fields of all events together. Which of them count depends on the kind; what has an odd type in an event that
/// nobody reads does no harm.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(borrow, rename = "type", default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient")]
    item_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    output_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    content_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    summary_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    part: Option<&'a RawValue>,
    #[serde(borrow)]
    annotation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Frame<'_> {
    /// What the event is about.
    pub(super) fn place(&self) -> Place<'_> {
        Place {
            id: self.item_id.as_deref().unwrap_or_default(),
            index: self.output_index,
            part: self.content_index.or(self.summary_index),
        }
    }

    /// The response; empty when there is none, or it is of another shape.
    pub(super) fn response(&self) -> Response {
        self.response.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    pub(super) fn item(&self) -> Value {
        value(self.item)
    }

    pub(super) fn part(&self) -> Value {
        value(self.part)
    }

    pub(super) fn annotation(&self) -> Value {
        value(self.annotation)
    }

    /// Whether this is a report of a failure in the shape of other APIs.
    pub(super) fn reports_error(&self) -> bool {
        self.error.is_some_and(|error| error.get() != "null")
    }
}

/// The text in a field: the string by the book, the text of an object, or the JSON of anything else.
pub(super) fn text(field: Option<&RawValue>) -> String {
    let Some(raw) = field.map(RawValue::get) else { return String::new() };
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).unwrap_or_default(),
        Some(b'n') | None => String::new(),
        _ => {
            let inner: Option<Value> = serde_json::from_str(raw).ok();
            let inner = inner.as_ref().and_then(|value| value.get("text")).and_then(Value::as_str);
            inner.map_or_else(|| raw.to_owned(), str::to_owned)
        }
    }
}

fn value(field: Option<&RawValue>) -> Value {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// The value where it has the type it should have.
pub(super) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}
