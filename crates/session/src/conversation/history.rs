//! The history of a conversation: every change goes to the log with it.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use robota_core::{EventKind, History, HistoryMutation, HistoryRef, MessageRef};
use serde::Serialize;

use super::trim::trimmed;
use super::{Conversation, ConversationEntry, Speaker, lock};
use crate::Error;

/// The messages of a conversation at one moment, oldest first. Later changes do not reach it, and
/// cloning it costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationHistory {
    /// The messages.
    pub items: Arc<[MessageRef]>,
}

impl Deref for ConversationHistory {
    type Target = [MessageRef];

    fn deref(&self) -> &[MessageRef] {
        &self.items
    }
}

impl From<Vec<MessageRef>> for ConversationHistory {
    fn from(items: Vec<MessageRef>) -> Self {
        Self { items: items.into() }
    }
}

/// The last snapshot that was asked for, and the state of the history it shows.
pub(super) type LastSnapshot = Mutex<Option<(HistoryRef, ConversationHistory)>>;

impl Conversation {
    /// Adds what was said to the end of the history, and waits until the log has it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the text is empty or the time is none, and
    /// [`Closed`](crate::ErrorKind::Closed): nothing is added then.
    /// [`Storage`](crate::ErrorKind::Storage) when the log cannot be written: nothing is added once that is
    /// known, and only what was waiting for the log at that moment stands in memory alone.
    pub async fn add_to_history(&self, entry: ConversationEntry) -> Result<(), Error> {
        let message = entry.into_message(|| self.options.ambient.next_id())?;
        self.record_message(message)?;
        self.written().await
    }

    /// Adds a message of any kind, such as one with tool calls, to the end of the history. Does not wait
    /// for the log.
    ///
    /// # Errors
    ///
    /// [`Closed`](crate::ErrorKind::Closed); [`Storage`](crate::ErrorKind::Storage) when the log takes
    /// nothing more. Nothing is added then.
    pub fn record_message(&self, message: impl Into<MessageRef>) -> Result<(), Error> {
        self.change_history(|history| history.append(message))
    }

    /// All messages at this moment.
    #[must_use]
    pub fn conversation_history(&self) -> ConversationHistory {
        let history = lock(&self.history);
        let reference = history.reference();
        let mut last = lock(&self.snapshot);
        match &*last {
            Some((at, snapshot)) if *at == reference => snapshot.clone(),
            _ => {
                let snapshot = ConversationHistory { items: history.messages().into() };
                *last = Some((reference, snapshot.clone()));
                snapshot
            }
        }
    }

    /// The message at `offset` from the end: -1 is the last one. `None` for one before the first, and for
    /// an offset that is not negative.
    #[must_use]
    pub fn history_entry(&self, offset: i64) -> Option<MessageRef> {
        let back = usize::try_from(offset.checked_neg()?).ok()?;
        let history = lock(&self.history);
        let messages = history.messages();
        // Of 0 the index is the length, where there is nothing.
        messages.get(messages.len().checked_sub(back)?).cloned()
    }

    /// The last message; `None` when there is none.
    #[must_use]
    pub fn last_message(&self) -> Option<MessageRef> {
        lock(&self.history).messages().last().cloned()
    }

    /// The messages of `speaker`, oldest first. Results of tools belong to nobody.
    #[must_use]
    pub fn messages_by_type(&self, speaker: Speaker) -> Vec<MessageRef> {
        let history = lock(&self.history);
        history.messages().iter().filter(|message| message.role() == speaker.role()).cloned().collect()
    }

    /// How many messages there are.
    #[must_use]
    pub fn message_count(&self) -> usize {
        lock(&self.history).messages().len()
    }

    /// True when there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        lock(&self.history).messages().is_empty()
    }

    /// Removes all messages; the log keeps what was. Everything else of the conversation stays.
    ///
    /// # Errors
    ///
    /// As [`record_message`](Conversation::record_message).
    pub fn clear_history(&self) -> Result<(), Error> {
        self.change_history(History::clear)
    }

    /// Puts `messages` in place of all there are, as a compaction does; the log keeps what was.
    ///
    /// # Errors
    ///
    /// As [`record_message`](Conversation::record_message).
    pub fn replace_history(&self, messages: Vec<MessageRef>) -> Result<(), Error> {
        self.change_history(|history| history.replace(messages))
    }

    /// Makes the history shorter without a model, waits until the log has it, and returns by how many
    /// messages.
    ///
    /// The last 20 messages stay. Where the first of them would be the result of a tool call, those back
    /// to the call stay too; where it would not be the user's, a note of the user stands in front that
    /// says how many messages were left out, so that what is left can be sent to a model. A history that
    /// would not become shorter stays as it is. Approvals, tokens and rate limits are not touched.
    ///
    /// # Errors
    ///
    /// As [`add_to_history`](Conversation::add_to_history).
    pub async fn compact(&self) -> Result<usize, Error> {
        let mut left_out = 0;
        {
            let mut history = lock(&self.history);
            let before = history.messages().len();
            if let Some(kept) = trimmed(history.messages(), &self.options.ambient) {
                left_out = before - kept.len();
                self.change_locked(&mut history, |history| history.replace(kept))?;
            }
        }
        self.check_open()?;
        self.written().await?;
        Ok(left_out)
    }

    /// The history itself, for the engine. Whoever changes it emits the mutation under this lock.
    pub(crate) fn history_lock(&self) -> &Mutex<History> {
        &self.history
    }

    /// Changes the history and tells the log.
    pub(crate) fn change_history(
        &self,
        change: impl FnOnce(&mut History) -> HistoryMutation,
    ) -> Result<(), Error> {
        self.change_locked(&mut lock(self.history_lock()), change)
    }

    fn change_locked(
        &self,
        history: &mut History,
        change: impl FnOnce(&mut History) -> HistoryMutation,
    ) -> Result<(), Error> {
        self.check_open()?;
        let mutation = change(history);
        // Under the lock, so that the log has the mutations in the order of the history.
        self.emit(EventKind::HistoryMutation(mutation));
        // A snapshot of what was must not keep it in memory.
        *lock(&self.snapshot) = None;
        self.touch();
        Ok(())
    }
}
