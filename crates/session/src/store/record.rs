//! The record of a session: the snapshot file, readable by the original (facts sheet 4.1).

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{
    Calibration, EntryCategory, EntryData, History, HistoryEntry, HistoryHead, HistoryMutation, MessageRef,
    SessionId, Timestamp, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{SessionHead, StoredSession};
use crate::LogMark;
use crate::log::Sequence;

/// `ISessionRecord` of seed `000`, with the place in the log it was taken at.
///
/// What a listing needs comes first, so that it can be read from the beginning of the file alone. The messages
/// come last: where they are those of the timeline, nobody has to decode them.
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
    /// Fields that belong to others.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    /// The timeline.
    pub history: Vec<HistoryEntry>,
    /// The messages as a model sees them, the system prompt first.
    pub messages: Vec<MessageRef>,
}

/// The place in the log at which a record was taken, and what the messages in it do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RecordLog {
    /// Version of the record's format, [`VERSION`](Self::VERSION); 0 in records older than this field.
    #[serde(default)]
    pub version: u32,
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
    /// [`History::message_bytes`].
    #[serde(default)]
    pub message_bytes: u64,
    /// [`History::counted_tokens`]: the provider's last count, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_tokens: Option<u64>,
    /// [`History::counted_tokens`]: the bytes added since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<u64>,
    /// Tokens of all model calls so far, those of compactions too.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// [`History::counts_from`]; `None` in records older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_from: Option<usize>,
    /// [`History::calibration`]; nothing learned in records older than this field.
    #[serde(default, skip_serializing_if = "is_default")]
    pub calibration: Calibration,
}

fn is_default(calibration: &Calibration) -> bool {
    *calibration == Calibration::default()
}

impl RecordLog {
    /// The version of the format that is written. A record of a higher one is neither read nor replaced.
    pub const VERSION: u32 = 1;

    /// The place `mark` of a log, after the turn `turn`, with `history` as it was there.
    #[must_use]
    pub fn new(mark: LogMark, turn: u32, history: &History) -> Self {
        let counted = history.counted_tokens();
        Self {
            version: Self::VERSION,
            seq: mark.seq,
            offset: mark.offset,
            turn,
            head: history.reference().head,
            compacted: !is_timeline(history.messages(), history.entries()),
            message_bytes: history.message_bytes(),
            counted_tokens: counted.map(|(tokens, _)| tokens),
            counted_since: counted.map(|(_, since)| since),
            usage: Usage::default(),
            counts_from: Some(history.counts_from()),
            calibration: history.calibration(),
        }
    }

    /// The same place, up to which model calls took `usage`.
    #[must_use]
    pub const fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The history whose views are `messages` and `entries`, as it was at this place.
    fn restore(&self, messages: Vec<MessageRef>, entries: Vec<HistoryEntry>) -> History {
        // An older record does not tell which answers were given before a compaction.
        let counts_from = self.counts_from.unwrap_or(if self.compacted { messages.len() } else { 0 });
        let history = History::restored(messages, entries, self.head, self.message_bytes);
        let history = history.with_counts_from(counts_from).with_calibration(self.calibration);
        match (self.counted_tokens, self.counted_since) {
            (Some(tokens), Some(since)) => history.with_counted_tokens(tokens, since),
            _ => history,
        }
    }
}

/// Whether `messages` are those of the timeline `entries`, and so need not be read from a record.
fn is_timeline(messages: &[MessageRef], entries: &[HistoryEntry]) -> bool {
    let mut chat = entries.iter().filter(|entry| entry.category == EntryCategory::Chat);
    let same = messages.iter().all(|message| {
        chat.next()
            .and_then(message_of)
            .is_some_and(|told| std::ptr::eq(&**told, &**message) || told == message)
    });
    same && chat.next().is_none()
}

/// The messages that the timeline `entries` tells.
pub(super) fn messages_of(entries: &[HistoryEntry]) -> Vec<MessageRef> {
    entries.iter().filter_map(message_of).cloned().collect()
}

fn message_of(entry: &HistoryEntry) -> Option<&MessageRef> {
    match (&entry.category, &entry.data) {
        (EntryCategory::Chat, EntryData::Message(message)) => Some(message),
        _ => None,
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

    /// The state of the session as the record alone tells it. The system message, which the record
    /// repeats at the head of the messages, is not part of a history.
    #[must_use]
    pub fn into_stored(mut self) -> StoredSession {
        let system = self.take_system_message();
        let (messages, mut entries) = (std::mem::take(&mut self.messages), std::mem::take(&mut self.history));
        let compacted = self.log.is_none_or(|log| log.compacted);
        let first = entries.first().and_then(message_of).filter(|message| is_system(message));
        if first.is_some_and(|first| self.repeats_prompt(first, system.as_ref())) {
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
        self.with_history(history, system)
    }

    /// The same of a record that is exactly as it was written: its history is believed, and not hashed.
    pub(super) fn restore(mut self) -> StoredSession {
        let Some(log) = self.log else { return self.into_stored() };
        let system = self.take_system_message();
        let (messages, entries) = (std::mem::take(&mut self.messages), std::mem::take(&mut self.history));
        self.with_history(log.restore(messages, entries), system)
    }

    /// Takes the system prompt off the messages, where it was put before them.
    fn take_system_message(&mut self) -> Option<MessageRef> {
        let put_there = match self.log {
            None => !self.has_no_prompt(),
            Some(log) => log.compacted && self.system_prompt.is_some(),
        };
        let is_there = put_there && self.messages.first().is_some_and(is_system);
        is_there.then(|| self.messages.remove(0))
    }

    /// Whether the system message `first`, with which the timeline begins, is the prompt that `system` is. Only
    /// the original puts it there; what was said to the model in a session of ours may begin with such a message.
    fn repeats_prompt(&self, first: &MessageRef, system: Option<&MessageRef>) -> bool {
        let of_original =
            system.map_or(!self.has_no_prompt(), |system| system.id == first.id || system.id != PROMPT_ID);
        self.log.is_none() && of_original
    }

    /// Whether the record says that there was no system prompt, which one of the original never does.
    fn has_no_prompt(&self) -> bool {
        self.system_prompt.as_deref() == Some("")
    }

    fn with_history(self, history: History, system: Option<MessageRef>) -> StoredSession {
        let system = system.map(|message| message.text().into());
        let mut stored = StoredSession::new(self.id);
        stored.name = self.name;
        stored.cwd = self.cwd;
        stored.created_at = self.created_at;
        stored.updated_at = self.updated_at;
        stored.forked_from = self.forked_from;
        stored.system_prompt = self.system_prompt.or(system);
        stored.tool_schemas = self.tool_schemas.map(|schemas| schemas.to_vec());
        stored.history = history;
        stored.extra = self.extra;
        if let Some(log) = self.log {
            stored.turn = log.turn;
            stored.usage = log.usage;
            let seq = if Sequence::may_have(log.seq) { log.seq } else { 0 };
            stored.mark = LogMark { seq, offset: log.offset };
        }
        stored
    }
}

/// Id of the message in which a record of ours repeats the system prompt.
pub(crate) const PROMPT_ID: &str = "system";

fn is_system(message: &MessageRef) -> bool {
    message.role() == "system"
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
