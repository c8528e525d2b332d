//! Text that arrives in pieces.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Text cut into the pieces in which the server sends it, one event each.
///
/// In JSON a string, or a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PiecesRecord", into = "PiecesRecord")]
pub struct Pieces(pub(crate) Vec<String>);

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum PiecesRecord {
    Whole(String),
    Cut(Vec<String>),
}

impl From<PiecesRecord> for Pieces {
    fn from(record: PiecesRecord) -> Self {
        match record {
            PiecesRecord::Whole(text) => Self(vec![text]),
            PiecesRecord::Cut(pieces) => Self(pieces),
        }
    }
}

impl From<Pieces> for PiecesRecord {
    fn from(mut pieces: Pieces) -> Self {
        match pieces.0.as_mut_slice() {
            [text] => Self::Whole(std::mem::take(text)),
            _ => Self::Cut(pieces.0),
        }
    }
}

impl Pieces {
    /// The pieces joined.
    #[must_use]
    pub fn joined(&self) -> String {
        self.0.concat()
    }
}

impl From<&str> for Pieces {
    fn from(text: &str) -> Self {
        Self(vec![text.to_owned()])
    }
}

impl From<String> for Pieces {
    fn from(text: String) -> Self {
        Self(vec![text])
    }
}

impl<T: Into<String>> From<Vec<T>> for Pieces {
    fn from(pieces: Vec<T>) -> Self {
        Self(pieces.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Pieces {
    fn from(pieces: [T; N]) -> Self {
        Self(pieces.into_iter().map(Into::into).collect())
    }
}

/// The arguments of a tool call, as text in pieces.
///
/// Made from a JSON value, from raw text (possibly malformed), or from pieces of raw text. In a
/// JSON plan likewise: an object is the arguments, a string is raw text, a list of strings is raw
/// text in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Arguments(pub(crate) Pieces);

impl Arguments {
    /// The argument text as a whole.
    #[must_use]
    pub fn joined(&self) -> String {
        self.0.joined()
    }
}

impl From<Value> for Arguments {
    /// The JSON text of `value`; a string or a list of strings is meant as a JSON value here, too.
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl<T: Into<String>> From<Vec<T>> for Arguments {
    fn from(pieces: Vec<T>) -> Self {
        Self(pieces.into())
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Arguments {
    fn from(pieces: [T; N]) -> Self {
        Self(pieces.into())
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected an object, raw text, or a list of pieces of raw text")]
        enum Record {
            Pieces(Pieces),
            Object(serde_json::Map<String, Value>),
        }
        Ok(match Record::deserialize(deserializer)? {
            Record::Pieces(pieces) => Self(pieces),
            Record::Object(object) => Value::Object(object).into(),
        })
    }
}

/// Bytes that are sent as they are; in JSON a string, or a list of numbers where they are not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawBytes(pub(crate) Bytes);

impl RawBytes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<Vec<u8>>> From<T> for RawBytes {
    fn from(bytes: T) -> Self {
        Self(Bytes::from(bytes.into()))
    }
}

impl Serialize for RawBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(self.0.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for RawBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a string or a list of bytes")]
        enum Record {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Record::deserialize(deserializer)? {
            Record::Text(text) => text.into(),
            Record::Bytes(bytes) => bytes.into(),
        })
    }
}
