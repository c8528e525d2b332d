//! The head of a session: what a listing shows, read from the beginning of a file alone.

use std::fmt;
use std::path::PathBuf;

use robota_core::{SessionId, Timestamp};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::read_record::RecordPlace;

/// Longest preview, in characters.
const PREVIEW: usize = 120;

/// What a listing shows of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionHead {
    /// Its id.
    pub id: SessionId,
    /// Name given by the user.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The folder it was made in; empty when its files do not tell.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub cwd: PathBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// Number of messages at the time of the snapshot; `None` when there is none, or the original wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message_count: Option<usize>,
    /// Beginning of the first prompt, on one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub preview: Option<String>,
}

impl SessionHead {
    /// The head of the session `id` made in `cwd` at `created_at`.
    #[must_use]
    pub fn new(id: SessionId, cwd: impl Into<PathBuf>, created_at: Timestamp) -> Self {
        Self {
            id,
            name: None,
            cwd: cwd.into(),
            created_at,
            updated_at: created_at,
            message_count: None,
            preview: None,
        }
    }
}

/// The beginning of a prompt, on one line.
pub(crate) fn preview(prompt: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in prompt.split_whitespace() {
        if length > 0 {
            line.push(' ');
        }
        length += word.chars().count() + 1;
        line.push_str(word);
        if length > PREVIEW {
            return line.chars().take(PREVIEW - 1).chain(['…']).collect();
        }
    }
    line
}

/// The fields of a head as they stand at the beginning of a record, or in the first line of a log.
#[derive(Debug, Default)]
pub(super) struct HeadFields {
    id: Option<SessionId>,
    name: Option<String>,
    cwd: Option<PathBuf>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    message_count: Option<usize>,
    preview: Option<String>,
    /// The place in the log a record was taken at.
    pub(super) log: Option<RecordPlace>,
    /// Whether reading came as far as the first of the large fields, or to the end.
    complete: bool,
}

impl HeadFields {
    /// Reads the fields that stand before the first large one. `None` when the text ends, or breaks
    /// the format, before that.
    pub(super) fn of_prefix(json: &[u8]) -> Option<Self> {
        let mut fields = Self::default();
        // Stopping early is an error to the parser; whether it stopped at the right place is known here.
        let _ = Seed(&mut fields).deserialize(&mut serde_json::Deserializer::from_slice(json));
        fields.complete.then_some(fields)
    }

    /// The head, when all of it was there.
    pub(super) fn into_head(self) -> Option<SessionHead> {
        let created_at = self.created_at?;
        Some(SessionHead {
            id: self.id?,
            name: self.name,
            cwd: self.cwd?,
            created_at,
            updated_at: self.updated_at.unwrap_or(created_at),
            message_count: self.message_count,
            preview: self.preview,
        })
    }
}

struct Seed<'a>(&'a mut HeadFields);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session record or a session_init event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let fields = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" | "sessionId" => fields.id = Some(map.next_value()?),
                "name" => fields.name = map.next_value()?,
                "cwd" => fields.cwd = Some(map.next_value()?),
                "createdAt" | "timestamp" => fields.created_at = Some(map.next_value()?),
                "updatedAt" => fields.updated_at = Some(map.next_value()?),
                "messageCount" => fields.message_count = map.next_value()?,
                "preview" => fields.preview = map.next_value()?,
                "log" => fields.log = map.next_value()?,
                "messages" | "history" | "systemPrompt" | "toolSchemas" if fields.has_essentials() => break,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        fields.complete = true;
        Ok(())
    }
}

impl HeadFields {
    fn has_essentials(&self) -> bool {
        self.id.is_some() && self.cwd.is_some() && self.created_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_from_a_cut_record() {
        let json = br#"{"id":"a","cwd":"/p","createdAt":0,"updatedAt":5,"messageCount":2,"messages":[{"con"#;
        let head = HeadFields::of_prefix(json).unwrap().into_head().unwrap();
        let mut expected = SessionHead::new("a".parse().unwrap(), "/p", Timestamp::default());
        expected.updated_at = Timestamp::from_millis(5);
        expected.message_count = Some(2);
        assert_eq!(head, expected);
        assert!(HeadFields::of_prefix(br#"{"id":"a","cwd":"/p","messages":[{"con"#).is_none());
        assert!(HeadFields::of_prefix(b"nonsense").is_none());
    }

    #[test]
    fn large_fields_may_come_first_in_a_whole_record() {
        let json = br#"{"messages":[1],"updatedAt":5,"id":"a","createdAt":0,"cwd":"/p"}"#;
        let head = HeadFields::of_prefix(json).unwrap().into_head().unwrap();
        assert_eq!((head.id.as_str(), head.updated_at.as_millis()), ("a", 5));
    }

    #[test]
    fn a_preview_is_one_short_line() {
        assert_eq!(preview("  fix\n the\tbug "), "fix the bug");
        let long = preview(&"word ".repeat(100));
        assert_eq!(long.chars().count(), PREVIEW);
        assert!(long.ends_with('…'));
    }
}
