//! Reading a record: strictly where it is as it should be, and otherwise as far as it goes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{EntryData, HistoryEntry, MessageRef, SessionId, Timestamp};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::record::messages_of;
use super::timeline::Timeline;
use super::{RecordLog, SessionRecord};
use crate::{Defect, DefectKind};

impl SessionRecord {
    /// Reads a record. Messages and entries that cannot be read are left out and reported in the
    /// second value; everything else must be right.
    ///
    /// # Errors
    ///
    /// When `json` is not a record.
    pub fn decode(json: &[u8]) -> serde_json::Result<(Self, Vec<Defect>)> {
        Self::decode_strictly(json)
            .map(|record| (record, Vec::new()))
            .or_else(|_| Self::decode_leniently(json))
    }

    fn decode_strictly(json: &[u8]) -> serde_json::Result<Self> {
        let file: RecordFile<Timeline, &RawValue> = serde_json::from_slice(json)?;
        let messages = file.messages.get();
        let (mut record, history, _) = file.split()?;
        record.history = history.map(|Timeline(entries)| entries).unwrap_or_default();
        record.messages = match record.timeline_tells_all() {
            true => messages_of(&record.history),
            false => shared_with(&record.history, serde_json::from_str(messages)?),
        };
        Ok(record)
    }

    fn decode_leniently(json: &[u8]) -> serde_json::Result<(Self, Vec<Defect>)> {
        let file: RecordFile<Vec<&RawValue>, Vec<&RawValue>> = serde_json::from_slice(json)?;
        let (mut record, history, messages) = file.split()?;
        let mut defects = Vec::new();
        record.history = decode_all("history", &history.unwrap_or_default(), &mut defects);
        record.messages = match record.timeline_tells_all() {
            true => messages_of(&record.history),
            false => shared_with(&record.history, decode_all("messages", &messages, &mut defects)),
        };
        Ok((record, defects))
    }

    /// Reads a record whose text was cut in two: `front` without its messages, and, where the timeline does
    /// not tell them, the list of `messages`.
    pub(super) fn decode_parts(front: &[u8], messages: Option<&[u8]>) -> serde_json::Result<Self> {
        let file: RecordFile<Timeline, Option<IgnoredAny>> = serde_json::from_slice(front)?;
        let (mut record, history, _) = file.split()?;
        record.history = history.map(|Timeline(entries)| entries).unwrap_or_default();
        record.messages = match messages {
            None => messages_of(&record.history),
            Some(messages) => shared_with(&record.history, serde_json::from_slice(messages)?),
        };
        Ok(record)
    }

    fn timeline_tells_all(&self) -> bool {
        self.log.is_some_and(|log| !log.compacted)
    }
}

/// Keeps messages that the timeline has too only once in memory.
fn shared_with(entries: &[HistoryEntry], mut messages: Vec<MessageRef>) -> Vec<MessageRef> {
    let mut told: HashMap<&str, &MessageRef> = HashMap::new();
    for entry in entries {
        if let EntryData::Message(message) = &entry.data {
            told.insert(&message.id, message);
        }
    }
    for message in &mut messages {
        if let Some(same) = told.get(message.id.as_str()).filter(|told| **told == message) {
            *message = MessageRef::clone(same);
        }
    }
    messages
}

fn decode_all<T: DeserializeOwned>(field: &str, items: &[&RawValue], defects: &mut Vec<Defect>) -> Vec<T> {
    let mut decoded = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match serde_json::from_str(item.get()) {
            Ok(value) => decoded.push(value),
            Err(error) => defects.push(Defect {
                kind: DefectKind::Snapshot,
                line: None,
                offset: 0,
                length: item.get().len() as u64,
                detail: format!("{field}[{index}] of the record: {error}"),
            }),
        }
    }
    decoded
}

/// A record file whose timeline is read as `H`, and its messages as `M`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "H: Deserialize<'de>, M: Deserialize<'de>"))]
struct RecordFile<H, M> {
    id: SessionId,
    #[serde(default)]
    name: Option<String>,
    cwd: PathBuf,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default)]
    message_count: Option<usize>,
    #[serde(default)]
    preview: Option<String>,
    #[serde(default)]
    log: Option<RecordLog>,
    #[serde(default)]
    forked_from: Option<SessionId>,
    #[serde(default)]
    system_prompt: Option<Arc<str>>,
    #[serde(default)]
    tool_schemas: Option<Arc<[Value]>>,
    #[serde(default = "Option::default")]
    history: Option<H>,
    messages: M,
    #[serde(default, rename = "seal")]
    _seal: Option<IgnoredAny>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl<H, M> RecordFile<H, M> {
    /// The record without its two lists, and these.
    fn split(self) -> serde_json::Result<(SessionRecord, Option<H>, M)> {
        if self.history.is_none() && self.log.is_some_and(|log| log.version > 0) {
            return Err(serde_json::Error::missing_field("history"));
        }
        let record = SessionRecord {
            id: self.id,
            name: self.name,
            cwd: self.cwd,
            created_at: self.created_at,
            updated_at: self.updated_at,
            message_count: self.message_count,
            preview: self.preview,
            log: self.log,
            forked_from: self.forked_from,
            system_prompt: self.system_prompt,
            tool_schemas: self.tool_schemas,
            extra: self.extra,
            history: Vec::new(),
            messages: Vec::new(),
        };
        Ok((record, self.history, self.messages))
    }
}
