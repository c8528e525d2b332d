//! Errors and tool calls, as far as a conversation remembers them. Never exported.

use std::collections::{BTreeMap, VecDeque};

use robota_core::Timestamp;
use serde_json::Value;

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
