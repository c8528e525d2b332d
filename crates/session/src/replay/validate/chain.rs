//! Whether each event builds on the history that the events before it make.

use robota_core::{Event, EventKind, HistoryHead, HistoryMutation, HistoryRef};

use crate::log::LogFold;

/// An entry may be added to the timeline while a reference is on its way to the log; more than this many
/// are not followed.
const RECENT: usize = 256;

/// How long the history is.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    /// Messages that are there.
    there: usize,
    /// Messages that the log says there are.
    told: usize,
}

impl Lengths {
    pub(super) fn of(fold: &LogFold) -> Self {
        Self { there: fold.history().messages().len(), told: fold.told_length() }
    }
}

/// The heads that a reference may have.
#[derive(Default)]
pub(super) struct Chain {
    /// Heads since the messages last changed: one more for each entry of the timeline. Empty for a history
    /// that nothing has changed yet.
    recent: Vec<HistoryHead>,
    /// What has changed since the last reference cannot be hashed as it was then.
    broken: bool,
    /// Something could not be hashed at some time; a resumed session then counts from what the log has.
    ever_broken: bool,
}

impl Chain {
    /// Takes `event`, which `fold` has taken already; the lengths were `before` then. Says what does not
    /// fit.
    pub(super) fn take(&mut self, event: &Event, before: Lengths, fold: &mut LogFold) -> Option<String> {
        match &event.kind {
            EventKind::HistoryMutation(mutation) => self.changed(mutation, event.redacted, before, fold),
            EventKind::SessionResume { history, .. } => self.resumed(history, before, fold),
            EventKind::PreRun { history, .. }
            | EventKind::ProviderRequest { history, .. }
            | EventKind::Assistant { history, .. }
            | EventKind::Interrupted { history, .. }
            | EventKind::Complete { history, .. } => self.referred(history, before.told, fold),
            _ => None,
        }
    }

    fn changed(
        &mut self,
        mutation: &HistoryMutation,
        redacted: bool,
        before: Lengths,
        fold: &LogFold,
    ) -> Option<String> {
        let misplaced = match mutation {
            HistoryMutation::AppendMessage { index, .. } if *index != before.told => Some(*index),
            _ => None,
        };
        // With messages lost before it, a message stands at another position than when it was hashed.
        if redacted || misplaced.is_some() || before.there != before.told {
            self.break_off();
        }
        if !matches!(mutation, HistoryMutation::AppendEntry { .. }) {
            self.recent.clear();
        } else if self.recent.is_empty() {
            self.recent.push(HistoryHead::default());
        }
        if self.recent.len() < RECENT {
            self.recent.push(fold.history().reference().head);
        }
        misplaced.map(|index| format!("a message for position {index}, where {} comes next", before.told))
    }

    fn resumed(&mut self, told: &HistoryRef, before: Lengths, fold: &mut LogFold) -> Option<String> {
        if self.ever_broken || fold.has_gaps() {
            // The line may have been lost before the session was resumed, or since.
            let wrong = told.length != before.there && told.length != before.told;
            self.rebase(told.head, fold);
            return wrong.then(|| lengths_differ(told.length, before.there));
        }
        self.referred(told, before.told, fold)
    }

    fn referred(&mut self, told: &HistoryRef, length: usize, fold: &mut LogFold) -> Option<String> {
        if told.length != length {
            self.break_off();
            self.rebase(told.head, fold);
            return Some(lengths_differ(told.length, length));
        }
        if self.broken {
            // With entries on the way, it is not clear which of them the head includes.
            if self.recent.len() <= 1 {
                self.rebase(told.head, fold);
            }
            return None;
        }
        let known = if self.recent.is_empty() {
            told.head == HistoryHead::default()
        } else {
            self.recent.contains(&told.head) || self.recent.len() == RECENT
        };
        if known {
            return None;
        }
        self.break_off();
        self.rebase(told.head, fold);
        Some(format!(
            "the history has {length} messages as it should, but not the ones it had: a change of it is lost or another one"
        ))
    }

    pub(super) fn break_off(&mut self) {
        (self.broken, self.ever_broken) = (true, true);
    }

    fn rebase(&mut self, head: HistoryHead, fold: &mut LogFold) {
        fold.believe(head);
        self.broken = false;
        self.recent = vec![head];
    }
}

fn lengths_differ(told: usize, length: usize) -> String {
    format!("the history had {told} messages here, and the log holds {length}")
}
