//! The record of a session: the snapshot file, readable by the original (facts sheet 4.1).

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{
    EntryCategory, History, HistoryEntry, HistoryHead, HistoryMutation, MessageRef, SessionId, Timestamp,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{SessionHead, StoredSession};
use crate::{Defect, DefectKind, LogMark};

/// `ISessionRecord` of seed `000`, with the place in the log it was taken at.
///
/// What a listing needs comes first, so that it can be read from the beginning of the file alone.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// Id of the session.
    pub id: SessionId,
    /// Name given by the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder the session was made in.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub cwd: PathBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// Number of messages, the system prompt not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_count: Option<usize>,
    /// Beginning of the first prompt, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Where in the log it was taken; `None` in records of the original.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<RecordLog>,
    /// The session this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Arc<str>>,
    /// Specs of the tools, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_schemas: Option<Arc<[Value]>>,
    /// The messages as a model sees them, the system prompt first.
    pub messages: Vec<MessageRef>,
    /// The timeline.
    pub history: Vec<HistoryEntry>,
    /// Fields that belong to others.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The place in the log at which a record was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RecordLog {
    /// Position of the last event before it.
    pub seq: u64,
    /// Bytes before it.
    pub offset: u64,
    /// Number of the last turn.
    pub turn: u32,
    /// The chain over all mutations so far.
    pub head: HistoryHead,
    /// True when the messages are not simply those of the timeline.
    pub compacted: bool,
}

impl RecordLog {
    /// The place `mark` of a log, after the turn `turn`, with `history` as it was there.
    #[must_use]
    pub fn new(mark: LogMark, turn: u32, history: &History) -> Self {
        let timeline = history.entries().iter().filter(|entry| entry.category == EntryCategory::Chat);
        let messages = history.messages().iter().map(|message| message.id.as_str());
        let compacted = !timeline.map(|entry| entry.id.as_str()).eq(messages);
        let LogMark { seq, offset } = mark;
        Self { seq, offset, turn, head: history.reference().head, compacted }
    }
}

impl SessionRecord {
    /// What a listing shows of it.
    #[must_use]
    pub fn head(&self) -> SessionHead {
        SessionHead {
            id: self.id.clone(),
            name: self.name.clone(),
            cwd: self.cwd.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            message_count: self.message_count,
            preview: self.preview.clone(),
        }
    }

    /// Reads a record. Messages and entries that cannot be read are left out and reported in the
    /// second value; everything else must be right.
    ///
    /// # Errors
    ///
    /// When `json` is not a record.
    pub fn decode(json: &[u8]) -> serde_json::Result<(Self, Vec<Defect>)> {
        let file: RecordFile<'_> = serde_json::from_slice(json)?;
        let mut defects = Vec::new();
        let compacted = file.log.is_none_or(|log| log.compacted);
        let history: Vec<HistoryEntry> = decode_all("history", &file.history, &mut defects);
        let messages = if compacted || history.is_empty() {
            decode_all("messages", &file.messages, &mut defects)
        } else {
            history.iter().filter_map(chat_message).collect()
        };
        let record = Self {
            id: file.id,
            name: file.name,
            cwd: file.cwd,
            created_at: file.created_at,
            updated_at: file.updated_at,
            message_count: file.message_count,
            preview: file.preview,
            log: file.log,
            forked_from: file.forked_from,
            system_prompt: file.system_prompt,
            tool_schemas: file.tool_schemas,
            messages,
            history,
            extra: file.extra,
        };
        Ok((record, defects))
    }

    /// The state of the session as the record alone tells it. The system message, which the record
    /// repeats at the head of the messages, is not part of a history.
    #[must_use]
    pub fn into_stored(self) -> StoredSession {
        let mut stored = StoredSession::new(self.id);
        let (mut messages, mut entries) = (self.messages, self.history);
        let foreign = self.log.is_none();
        let compacted = self.log.is_none_or(|log| log.compacted);
        if compacted && messages.first().is_some_and(is_system) {
            let system = messages.remove(0);
            stored.system_prompt = Some(system.text().into());
        }
        if foreign && entries.first().and_then(chat_message).as_ref().is_some_and(is_system) {
            entries.remove(0);
        }
        if entries.is_empty() {
            entries = messages.iter().cloned().map(HistoryEntry::chat).collect();
        }
        let mut history = History::default();
        for entry in entries {
            history.append_entry(entry);
        }
        if compacted && history.messages() != messages {
            // A replacement of messages always applies.
            let _ = history.apply(&HistoryMutation::Replace { messages });
        }
        stored.name = self.name;
        stored.cwd = self.cwd;
        stored.created_at = self.created_at;
        stored.updated_at = self.updated_at;
        stored.forked_from = self.forked_from;
        stored.system_prompt = self.system_prompt.or(stored.system_prompt);
        stored.tool_schemas = self.tool_schemas.map(|schemas| schemas.to_vec());
        stored.history = history;
        stored.extra = self.extra;
        if let Some(log) = self.log {
            stored.turn = log.turn;
            stored.mark = LogMark { seq: log.seq, offset: log.offset };
        }
        stored
    }
}

fn is_system(message: &MessageRef) -> bool {
    message.role() == "system"
}

fn chat_message(entry: &HistoryEntry) -> Option<MessageRef> {
    match &entry.data {
        robota_core::EntryData::Message(message) => Some(message.clone()),
        robota_core::EntryData::Event(_) => None,
    }
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

/// A record file with messages and entries still undecoded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordFile<'a> {
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
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    history: Vec<&'a RawValue>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_of_the_original_becomes_a_history_without_its_system_message() {
        let chat = |id: &str, role: &str, content: &str| json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "state": "complete", "role": role, "content": content});
        let record = json!({
            "id": "session_1747_abc", "cwd": "/p", "createdAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-01-02T00:00:00.000Z", "systemPrompt": "Be brief.",
            "messages": [chat("s", "system", "Be brief."), chat("u", "user", "hi"), {"role": "wizard"}, chat("a", "assistant", "hello")],
            "history": [
                {"id": "u", "timestamp": "2026-01-01T00:00:00.000Z", "category": "chat", "type": "user", "data": chat("u", "user", "hi")},
                {"id": "t", "timestamp": "2026-01-01T00:00:00.000Z", "category": "event", "type": "tool-summary", "data": {"tools": 1}},
                {"id": "a", "timestamp": "2026-01-01T00:00:00.000Z", "category": "chat", "type": "assistant", "data": chat("a", "assistant", "hello")},
            ],
            "memoryEvents": [{"kind": "saved"}],
        });
        let (record, defects) = SessionRecord::decode(record.to_string().as_bytes()).unwrap();
        assert_eq!(defects.len(), 1);
        assert!(defects[0].detail.starts_with("messages[2] of the record:"), "{}", defects[0].detail);
        let stored = record.into_stored();
        let texts: Vec<&str> = stored.history.messages().iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["hi", "hello"]);
        assert_eq!(stored.history.entries().len(), 3);
        assert_eq!(stored.system_prompt.as_deref(), Some("Be brief."));
        assert_eq!(stored.extra, json!({"memoryEvents": [{"kind": "saved"}]}).as_object().unwrap().clone());
    }

    #[test]
    fn a_compacted_record_keeps_both_views() {
        let mut history = History::default();
        let message = |id: &str| robota_core::Message::user(id, Timestamp::default(), id);
        history.append(message("a"));
        history.append(message("b"));
        let plain = RecordLog::new(LogMark::default(), 1, &history);
        assert!(!plain.compacted);
        history.apply(&HistoryMutation::Replace { messages: vec![message("summary").into()] }).unwrap();
        let log = RecordLog::new(LogMark::default(), 1, &history);
        assert!(log.compacted);
        let record = json!({
            "id": "x", "cwd": "/p", "createdAt": 0, "updatedAt": 0, "log": log,
            "messages": history.messages(), "history": history.entries(),
        });
        let (record, _) = SessionRecord::decode(record.to_string().as_bytes()).unwrap();
        let stored = record.into_stored();
        assert_eq!(stored.history.messages(), history.messages());
        assert_eq!(stored.history.entries(), history.entries());
    }
}
