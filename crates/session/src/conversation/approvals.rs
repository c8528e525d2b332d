//! What was approved until the session ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use robota_core::Rule;

use super::entry::invalid;
use super::{Conversation, lock};
use crate::Error;

/// The commands approved for a session, shared between its conversation and whoever decides about tool
/// calls.
///
/// A text that is a permission rule, such as `Bash(git status)`, approves what the rule covers. Any other
/// text is kept, exported and found again, and covers nothing: what cannot be understood allows nothing.
#[derive(Debug, Default)]
pub struct Approvals {
    /// By text; parsed once.
    by_text: Mutex<BTreeMap<String, Option<Rule>>>,
}

impl Approvals {
    /// Approves `command`.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it is empty.
    pub fn add(&self, command: &str) -> Result<(), Error> {
        if command.trim().is_empty() {
            return Err(invalid("a command to approve needs a text, and this one is empty"));
        }
        let rule = command.parse().ok();
        lock(&self.by_text).insert(command.to_owned(), rule);
        Ok(())
    }

    /// Whether exactly `command` was approved. What its rule covers is for the gate to say.
    #[must_use]
    pub fn contains(&self, command: &str) -> bool {
        lock(&self.by_text).contains_key(command)
    }

    /// The approved commands, in alphabetical order.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        lock(&self.by_text).keys().cloned().collect()
    }

    /// Those of them that are rules.
    #[must_use]
    pub fn rules(&self) -> Vec<Rule> {
        lock(&self.by_text).values().flatten().cloned().collect()
    }

    /// True when nothing was approved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        lock(&self.by_text).is_empty()
    }

    /// Takes all approvals back.
    pub fn clear(&self) {
        lock(&self.by_text).clear();
    }
}

impl Conversation {
    /// What was approved until the session ends, to be shared with whoever decides about tool calls.
    #[must_use]
    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// Approves `command` until the session ends. See [`Approvals`] for what that covers.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it is empty.
    pub fn add_approved_command(&self, command: &str) -> Result<(), Error> {
        self.approvals.add(command)?;
        self.touch();
        Ok(())
    }

    /// Whether exactly `command` was approved.
    #[must_use]
    pub fn is_command_approved(&self, command: &str) -> bool {
        self.approvals.contains(command)
    }

    /// The approved commands, in alphabetical order.
    #[must_use]
    pub fn approved_commands(&self) -> Vec<String> {
        self.approvals.commands()
    }

    /// Takes all approvals back.
    pub fn clear_approved_commands(&self) {
        self.approvals.clear();
        self.touch();
    }
}
