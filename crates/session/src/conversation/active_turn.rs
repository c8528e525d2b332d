//! The turn that runs, and those that have ended.

use std::collections::VecDeque;
use std::mem;

use robota_core::{Timestamp, TurnAbortReason, TurnEnd};
use tokio_util::sync::CancellationToken;

use super::review::PendingApprovals;

/// How many ended turns are remembered.
const REMEMBERED: usize = 100;

/// The turn that runs, as it is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurrentTurn {
    /// Its number, from 1.
    pub number: u32,
    /// When it began.
    pub started: Timestamp,
    /// Tokens recorded in it so far.
    pub tokens: u64,
    /// Why it was aborted, when it was and is only coming to its end.
    pub aborted: Option<TurnAbortReason>,
}

/// A turn that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinishedTurn {
    /// Its number, from 1.
    pub number: u32,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Timestamp,
    /// Tokens recorded in it.
    pub tokens: u64,
    /// How it ended.
    pub ended: TurnEnd,
    /// Why it was aborted, when it was.
    pub aborted: Option<TurnAbortReason>,
}

/// The number of work that is no turn.
const TASK: u32 = 0;

/// `ActiveTurn` and `TurnState` of facts sheet 12.1.
pub(super) struct ActiveTurn {
    pub(super) number: u32,
    started: Timestamp,
    pub(super) tokens: u64,
    pub(super) aborted: Option<TurnAbortReason>,
    pub(super) cancel: CancellationToken,
    pub(super) approvals: PendingApprovals,
    pub(super) input: VecDeque<String>,
    pub(super) executing: bool,
}

impl ActiveTurn {
    fn new(number: u32, started: Timestamp) -> Self {
        Self {
            number,
            started,
            tokens: 0,
            aborted: None,
            cancel: CancellationToken::new(),
            approvals: PendingApprovals::default(),
            input: VecDeque::new(),
            executing: false,
        }
    }

    pub(super) fn now(&self) -> CurrentTurn {
        let Self { number, started, tokens, aborted, .. } = *self;
        CurrentTurn { number, started, tokens, aborted }
    }

    /// Tells everything that belongs to the turn to end. The first reason stands.
    pub(super) fn abort(&mut self, reason: TurnAbortReason) {
        self.aborted.get_or_insert(reason);
        self.approvals.clear();
        self.cancel.cancel();
    }

    pub(super) fn take_input(&mut self) -> Vec<String> {
        mem::take(&mut self.input).into()
    }
}

impl Drop for ActiveTurn {
    /// What still hangs on a turn that is over has nobody to work for.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// The turns of a conversation.
#[derive(Default)]
pub(super) struct Turns {
    pub(super) active: Option<ActiveTurn>,
    last: u32,
    finished: VecDeque<FinishedTurn>,
    pub(super) interrupt: bool,
}

impl Turns {
    /// Turns that go on after the turn `last`.
    pub(super) fn after(last: u32) -> Self {
        Self { last, ..Self::default() }
    }

    /// Begins the next turn, and returns its number.
    pub(super) fn begin(&mut self, now: Timestamp) -> u32 {
        self.last = self.last.saturating_add(1);
        self.active = Some(ActiveTurn::new(self.last, now));
        // What was asked for before the turn was not about it.
        self.interrupt = false;
        self.last
    }

    /// Begins work that is no turn, but has its place.
    pub(super) fn begin_task(&mut self, now: Timestamp) {
        self.active = Some(ActiveTurn::new(TASK, now));
        self.interrupt = false;
    }

    /// Ends the turn that runs, and returns the input that nobody took; `None` when none runs.
    pub(super) fn end(&mut self, ended: Option<TurnEnd>, now: Timestamp) -> Option<Vec<String>> {
        let mut turn = self.active.take()?;
        let CurrentTurn { number, started, tokens, aborted } = turn.now();
        if number == TASK {
            return Some(Vec::new());
        }
        let usual = if aborted.is_some() { TurnEnd::Interrupted } else { TurnEnd::Completed };
        if self.finished.len() >= REMEMBERED {
            self.finished.pop_front();
        }
        self.finished.push_back(FinishedTurn {
            number,
            started,
            finished: now,
            tokens,
            ended: ended.unwrap_or(usual),
            aborted,
        });
        Some(turn.take_input())
    }

    /// The turn that takes input and questions: the one that runs, unless it was aborted.
    pub(super) fn open(&mut self) -> Option<&mut ActiveTurn> {
        self.active.as_mut().filter(|turn| turn.aborted.is_none() && turn.number != TASK)
    }

    pub(super) fn last_number(&self) -> u32 {
        self.last
    }

    pub(super) fn finished(&self) -> &VecDeque<FinishedTurn> {
        &self.finished
    }
}
