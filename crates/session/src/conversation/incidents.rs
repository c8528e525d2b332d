//! Errors and tool calls, as far as a conversation remembers them. Never exported.

use std::collections::{BTreeMap, VecDeque};

use robota_core::Timestamp;
use serde_json::Value;

use super::{Conversation, lock};

/// How many errors are remembered.
const REMEMBERED: usize = 100;

/// An error that occurred during the conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedError {
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub message: String,
    /// What was going on.
    pub context: Option<Value>,
}

impl Conversation {
    /// Remembers an error, and what was going on. The last 100 are kept; they are not exported.
    pub fn add_error(&self, message: impl Into<String>, context: Option<Value>) {
        let now = self.touch();
        lock(&self.incidents).add_error(now, message.into(), context);
    }

    /// The remembered errors, oldest first.
    #[must_use]
    pub fn errors(&self) -> Vec<RecordedError> {
        lock(&self.incidents).errors()
    }

    /// Counts a call of the tool `name`.
    pub fn track_tool_usage(&self, name: &str) {
        lock(&self.incidents).count_tool(name);
        self.touch();
    }

    /// How often which tool was called. Not exported.
    #[must_use]
    pub fn tool_usage(&self) -> BTreeMap<String, u64> {
        lock(&self.incidents).tool_usage.clone()
    }
}

/// The errors, and how often which tool was used.
#[derive(Default)]
pub(super) struct Incidents {
    errors: VecDeque<RecordedError>,
    pub(super) tool_usage: BTreeMap<String, u64>,
}

impl Incidents {
    pub(super) fn add_error(&mut self, at: Timestamp, message: String, context: Option<Value>) {
        if self.errors.len() >= REMEMBERED {
            self.errors.pop_front();
        }
        self.errors.push_back(RecordedError { at, message, context });
    }

    pub(super) fn errors(&self) -> Vec<RecordedError> {
        self.errors.iter().cloned().collect()
    }

    pub(super) fn count_tool(&mut self, name: &str) {
        match self.tool_usage.get_mut(name) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.tool_usage.insert(name.to_owned(), 1);
            }
        }
    }
}
