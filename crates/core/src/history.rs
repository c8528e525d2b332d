//! The history of a conversation: append-only, changed by recorded mutations alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calibration::kept_tokens;
use crate::{Calibration, HistoryHead, HistoryRef, MessageRef, Timestamp};

/// One entry of the timeline that a person sees: a message or an event between messages.
///
/// JSON as in facts sheet 2.5: `{"id","timestamp","category","type","data"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Unique within the session; a chat entry has its message's id.
    pub id: String,
    /// When it was added.
    pub timestamp: Timestamp,
    /// Message or event.
    pub category: EntryCategory,
    /// A chat entry's role, or an event's type such as `tool-summary`.
    pub r#type: String,
    /// The message, or what the event carries.
    pub data: EntryData,
}

/// The two kinds of history entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the record format knows exactly these two")]
pub enum EntryCategory {
    /// A message.
    Chat,
    /// Something that is shown but never sent to a model.
    Event,
}

/// What an entry carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "follows the two categories")]
pub enum EntryData {
    /// The message of a chat entry.
    Message(MessageRef),
    /// The data of an event entry.
    Event(Value),
}

impl HistoryEntry {
    /// The chat entry of a message.
    #[must_use]
    pub fn chat(message: MessageRef) -> Self {
        Self {
            id: message.id.clone(),
            timestamp: message.timestamp,
            category: EntryCategory::Chat,
            r#type: message.role().to_owned(),
            data: EntryData::Message(message),
        }
    }

    /// An event entry.
    #[must_use]
    pub fn event(id: String, timestamp: Timestamp, r#type: impl Into<String>, data: Value) -> Self {
        let r#type = r#type.into();
        Self { id, timestamp, category: EntryCategory::Event, r#type, data: EntryData::Event(data) }
    }
}

/// The one way a history changes. The log records each mutation, and replay applies them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mutation", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HistoryMutation {
    /// A message is added at the end, to the model's view and to the timeline.
    AppendMessage {
        /// Where it stands among the messages, from 0; checked on replay.
        index: usize,
        /// The message.
        message: MessageRef,
    },
    /// An event is added to the timeline; the model does not see it.
    AppendEntry {
        /// The event entry.
        entry: HistoryEntry,
    },
    /// Compaction: the model's view is replaced; the timeline keeps what was.
    Replace {
        /// The messages from now on.
        messages: Vec<MessageRef>,
    },
    /// Both views are emptied.
    Clear,
    /// Rewind: only the first `length` messages stay, in both views.
    Truncate {
        /// How many messages stay.
        length: usize,
    },
}

/// A mutation that does not fit the history it is applied to.
#[derive(Debug, thiserror::Error)]
#[error("a message for position {index} cannot be added to a history of {length} messages")]
pub struct MutationMismatch {
    index: usize,
    length: usize,
}

/// The messages of a conversation and the timeline around them.
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: Vec<MessageRef>,
    entries: Vec<HistoryEntry>,
    head: HistoryHead,
    message_bytes: u64,
    counted: Option<Counted>,
    /// The first message whose usage tells of this history, and not of one that was replaced since.
    counts_from: usize,
    calibration: Calibration,
}

/// The last point at which a provider told how many tokens the conversation has.
#[derive(Clone, Copy, Debug)]
struct Counted {
    tokens: u64,
    at_bytes: u64,
}

impl History {
    /// The messages a model would see, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[MessageRef] {
        &self.messages
    }

    /// The timeline: messages and the events between them, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    /// Length and head, to refer to this state of the history.
    #[must_use]
    pub fn reference(&self) -> HistoryRef {
        HistoryRef { length: self.messages.len(), head: self.head }
    }

    /// Size of the messages in bytes that stand for tokens, as
    /// [`Message::estimated_bytes`](crate::Message::estimated_bytes) counts them; kept up to date, so asking costs nothing.
    #[must_use]
    pub const fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// The provider's own count of the conversation up to some message, and the bytes added since.
    ///
    /// `None` until an assistant message with usage in its metadata has been added.
    #[must_use]
    pub fn counted_tokens(&self) -> Option<(u64, u64)> {
        self.counted.map(|counted| (counted.tokens, self.message_bytes.saturating_sub(counted.at_bytes)))
    }

    /// The first message whose usage tells of this history: what providers counted before it was of another
    /// one, which a compaction has replaced.
    #[must_use]
    pub const fn counts_from(&self) -> usize {
        self.counts_from
    }

    /// How the provider counts, beside the estimate.
    #[must_use]
    pub const fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Adds a message at the end and returns the mutation to record.
    pub fn append(&mut self, message: impl Into<MessageRef>) -> HistoryMutation {
        let mutation = HistoryMutation::AppendMessage { index: self.messages.len(), message: message.into() };
        self.record(&mutation);
        mutation
    }

    /// Adds an event to the timeline and returns the mutation to record.
    ///
    /// A chat entry becomes a message of the model's view as well.
    pub fn append_entry(&mut self, entry: HistoryEntry) -> HistoryMutation {
        if let EntryData::Message(message) = entry.data {
            return self.append(message);
        }
        let mutation = HistoryMutation::AppendEntry { entry };
        self.record(&mutation);
        mutation
    }

    /// Empties both views and returns the mutation to record.
    pub fn clear(&mut self) -> HistoryMutation {
        self.record(&HistoryMutation::Clear);
        HistoryMutation::Clear
    }

    /// Compaction: replaces what the model sees by `messages` and returns the mutation to record. The
    /// timeline keeps what was.
    pub fn replace(&mut self, messages: Vec<MessageRef>) -> HistoryMutation {
        let mutation = HistoryMutation::Replace { messages };
        self.record(&mutation);
        mutation
    }

    /// Rewind: keeps the first `length` messages and returns the mutation to record.
    pub fn truncate(&mut self, length: usize) -> HistoryMutation {
        let mutation = HistoryMutation::Truncate { length };
        self.record(&mutation);
        mutation
    }

    /// A history as it was put down together with its head, which is believed: nothing is hashed.
    ///
    /// `message_bytes` is [`message_bytes`](Self::message_bytes) of `messages`. What providers counted in them is
    /// not believed, but for what [`with_counted_tokens`](Self::with_counted_tokens) and
    /// [`with_counts_from`](Self::with_counts_from) say.
    #[must_use]
    pub fn restored(
        messages: Vec<MessageRef>,
        entries: Vec<HistoryEntry>,
        head: HistoryHead,
        message_bytes: u64,
    ) -> Self {
        let counts_from = messages.len();
        let calibration = Calibration::default();
        Self { messages, entries, head, message_bytes, counted: None, counts_from, calibration }
    }

    /// Takes what was learned of the provider's counts, as it was put down with the history.
    #[must_use]
    pub const fn with_calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = calibration;
        self
    }

    /// Takes the provider's last count of the conversation, as it was put down with the history.
    #[must_use]
    pub const fn with_counted_tokens(mut self, tokens: u64, bytes_since: u64) -> Self {
        let at_bytes = self.message_bytes.saturating_sub(bytes_since);
        self.counted = Some(Counted { tokens, at_bytes });
        self
    }

    /// Takes the place from which on usage tells of this history ([`counts_from`](Self::counts_from)), as it was
    /// put down with it.
    #[must_use]
    pub const fn with_counts_from(mut self, index: usize) -> Self {
        self.counts_from = index;
        self
    }

    /// Takes `head`, which a record names for this state of the history, in place of the one that its
    /// mutations came to. For readers of a record from which secrets were taken out.
    pub const fn rebase(&mut self, head: HistoryHead) {
        self.head = head;
    }

    /// Applies a recorded mutation, as replay does.
    ///
    /// # Errors
    ///
    /// When an appended message names another position than the end of this history, which then
    /// stays as it was.
    pub fn apply(&mut self, mutation: &HistoryMutation) -> Result<(), MutationMismatch> {
        let length = self.messages.len();
        match mutation {
            HistoryMutation::AppendMessage { index, .. } if *index != length => {
                Err(MutationMismatch { index: *index, length })
            }
            _ => {
                self.record(mutation);
                Ok(())
            }
        }
    }

    fn record(&mut self, mutation: &HistoryMutation) {
        let json = json_bytes(mutation);
        match mutation {
            HistoryMutation::AppendMessage { message, .. } => {
                self.add(message, true);
                self.entries.push(HistoryEntry::chat(message.clone()));
            }
            HistoryMutation::AppendEntry { entry } => self.entries.push(entry.clone()),
            HistoryMutation::Replace { messages } => self.rebuild(messages, messages.len()),
            HistoryMutation::Clear => {
                self.rebuild(&[], 0);
                self.entries.clear();
            }
            HistoryMutation::Truncate { length } => self.cut(*length),
        }
        self.head = self.head.after(&json);
    }

    fn cut(&mut self, length: usize) {
        let Some(first_gone) = self.messages.get(length) else { return };
        let cut = self.entries.iter().position(|entry| entry.id == first_gone.id);
        self.entries.truncate(cut.unwrap_or(self.entries.len()));
        let kept = self.messages.get(..length).map(<[MessageRef]>::to_vec).unwrap_or_default();
        // What is left is what the provider counted when it gave the last of the answers that still count.
        self.rebuild(&kept, self.counts_from.min(length));
    }

    /// Takes `messages` in place of what was there. What providers counted holds from `counts_from` on: an
    /// answer before that was given to a history that is not there any more.
    fn rebuild(&mut self, messages: &[MessageRef], counts_from: usize) {
        self.counts_from = counts_from;
        self.messages.clear();
        self.message_bytes = 0;
        self.counted = None;
        self.calibration.forget_anchor();
        for message in messages {
            self.add(message, false);
        }
    }

    /// Adds a message, which came `just_now` or is one of those that stay.
    fn add(&mut self, message: &MessageRef, just_now: bool) {
        let bytes = message.estimated_bytes();
        self.message_bytes += bytes;
        let counts = self.messages.len() >= self.counts_from;
        let usage = message.usage().filter(|usage| counts && !usage.is_empty());
        if let Some(usage) = usage {
            let tokens = kept_tokens(message, bytes, usage);
            self.counted = Some(Counted { tokens, at_bytes: self.message_bytes });
        }
        self.calibration.note(message, bytes, usage, just_now);
        self.messages.push(message.clone());
    }
}

/// The JSON of a value that has only string keys, and so cannot fail to serialise.
fn json_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn message(id: &str) -> Message {
        Message::user(id, Timestamp::default(), format!("text of {id}"))
    }

    #[test]
    fn replaying_the_recorded_mutations_gives_the_same_history() {
        let mut history = History::default();
        let mut log = vec![history.append(message("a")), history.append(message("b"))];
        let event = HistoryEntry::event("e".into(), Timestamp::default(), "tool-summary", Value::from(1));
        log.push(history.append_entry(event));
        log.push(history.append(message("c")));

        let json = serde_json::to_string(&log).unwrap();
        let mut replayed = History::default();
        for mutation in serde_json::from_str::<Vec<HistoryMutation>>(&json).unwrap() {
            replayed.apply(&mutation).unwrap();
        }
        assert_eq!(replayed.messages(), history.messages());
        assert_eq!(replayed.entries(), history.entries());
        assert_eq!(replayed.reference(), history.reference());
        assert_eq!(replayed.message_bytes(), history.message_bytes());
    }

    #[test]
    fn a_lost_line_shows_as_a_mismatch_and_changes_nothing() {
        let mut history = History::default();
        history.append(message("a"));
        let late = HistoryMutation::AppendMessage { index: 2, message: message("c").into() };
        let before = history.reference();
        assert!(history.apply(&late).unwrap_err().to_string().contains("position 2"));
        assert_eq!(history.reference(), before);
    }

    #[test]
    fn truncate_drops_later_messages_and_the_events_after_them() {
        let mut history = History::default();
        history.append(message("a"));
        history.append(message("b"));
        let event = HistoryEntry::event("e".into(), Timestamp::default(), "note", Value::Null);
        history.append_entry(event);
        history.apply(&HistoryMutation::Truncate { length: 1 }).unwrap();
        assert_eq!(history.messages().len(), 1);
        assert_eq!(history.entries().len(), 1);
    }

    #[test]
    fn after_a_replacement_old_counts_say_nothing() {
        let mut history = History::default();
        history.append(message("a"));
        let mut answer = Message::assistant("b", Timestamp::default(), "answer");
        answer.metadata.insert("usage".into(), serde_json::json!({"inputTokens": 900}));
        history.append(answer.clone());
        history.append(message("c"));
        assert_eq!(history.counted_tokens().unwrap().0, 900);
        let (tokens, since) = history.counted_tokens().unwrap();
        let restored = History::restored(
            history.messages().to_vec(),
            history.entries().to_vec(),
            history.reference().head,
            history.message_bytes(),
        );
        let restored = restored.with_counted_tokens(tokens, since);
        assert_eq!(restored.counted_tokens(), history.counted_tokens());
        history.truncate(2);
        assert_eq!(history.counted_tokens(), Some((900, 0)));
        history.replace(vec![answer.into()]);
        assert_eq!(history.counted_tokens(), None);
        assert_eq!(history.entries().len(), 2);
    }

    #[test]
    fn after_a_rewind_answers_from_before_a_replacement_do_not_count() {
        let answer = |id: &str, tokens: u64| {
            let mut answer = Message::assistant(id, Timestamp::default(), "answer");
            answer.metadata.insert("usage".into(), serde_json::json!({"inputTokens": tokens}));
            MessageRef::from(answer)
        };
        let mut history = History::default();
        history.append(message("a"));
        history.append(answer("b", 900));
        history.replace(vec![message("summary").into(), answer("b", 900)]);
        history.append(message("c"));
        history.truncate(2);
        assert_eq!(history.counted_tokens(), None);
        history.append(answer("d", 50));
        history.append(message("e"));
        history.truncate(3);
        assert_eq!(history.counted_tokens(), Some((50, 0)));
        history.truncate(1);
        history.append(answer("f", 20));
        assert_eq!(history.counted_tokens(), Some((20, 0)));
    }
}
