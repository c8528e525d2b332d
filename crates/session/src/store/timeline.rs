//! Decodes the timeline of a record in one pass over its text.

use std::fmt;

use robota_core::{EntryCategory, EntryData, HistoryEntry, MessageRef, Timestamp};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The entries of a timeline, read without a detour.
///
/// What an entry carries is told by nothing in it, so core tries one reading after the other on a copy. Entries as
/// they are written here have their category first, and that tells.
pub(super) struct Timeline(pub(super) Vec<HistoryEntry>);

impl<'de> Deserialize<'de> for Timeline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Entries).map(Self)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<HistoryEntry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of history entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(Entry(entry)) = list.next_element()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}

struct Entry(HistoryEntry);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryFields).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Field {
    Id,
    Timestamp,
    Category,
    Type,
    Data,
    #[serde(other)]
    Other,
}

struct EntryFields;

impl<'de> Visitor<'de> for EntryFields {
    type Value = HistoryEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a history entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HistoryEntry, A::Error> {
        let (mut id, mut timestamp, mut category, mut kind, mut data) = (None, None, None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Id => id = Some(map.next_value::<String>()?),
                Field::Timestamp => timestamp = Some(map.next_value::<Timestamp>()?),
                Field::Category => category = Some(map.next_value::<EntryCategory>()?),
                Field::Type => kind = Some(map.next_value::<String>()?),
                Field::Data if category == Some(EntryCategory::Chat) => {
                    data = Some(EntryData::Message(map.next_value::<MessageRef>()?));
                }
                Field::Data => data = Some(map.next_value::<EntryData>()?),
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let missing = A::Error::missing_field;
        Ok(HistoryEntry {
            id: id.ok_or_else(|| missing("id"))?,
            timestamp: timestamp.ok_or_else(|| missing("timestamp"))?,
            category: category.ok_or_else(|| missing("category"))?,
            r#type: kind.ok_or_else(|| missing("type"))?,
            data: data.ok_or_else(|| missing("data"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use robota_core::Message;
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_what_core_reads_in_any_order_of_fields() {
        let chat = HistoryEntry::chat(Message::user("u", Timestamp::default(), "hi \"there\"\n").into());
        let note = HistoryEntry::event("e".into(), Timestamp::default(), "note", json!({"tools": [1]}));
        let mut backwards = serde_json::Map::new();
        let fields = serde_json::to_value(&chat).unwrap();
        for key in ["data", "later", "type", "category", "timestamp", "id"] {
            backwards.insert(key.into(), fields.get(key).cloned().unwrap_or_default());
        }
        let json = json!([chat, note, backwards]).to_string();
        let Timeline(entries) = serde_json::from_str(&json).unwrap();
        assert_eq!(entries, [chat.clone(), note, chat]);
        assert_eq!(entries, serde_json::from_str::<Vec<HistoryEntry>>(&json).unwrap());
        let error = serde_json::from_str::<Timeline>("[{\"id\":\"x\"}]").err().unwrap();
        assert!(error.to_string().starts_with("missing field `timestamp`"), "{error}");
    }
}
