//! The turns of a conversation: one at a time, with its open questions and waiting input.

use robota_core::{TurnAbortReason, TurnEnd};
use tokio_util::sync::CancellationToken;

use super::active_turn::ActiveTurn;
use super::{
    ApprovalReceiver, Conversation, CurrentTurn, ExecutionState, FinishedTurn, ReturnReason, ReturnedInput,
    ReviewDecision, lock,
};
use crate::Error;

impl Conversation {
    /// Begins a turn and returns its number, counted from 1 over resumes. Events carry it until the end of
    /// the turn. An interrupt that was asked for earlier is forgotten.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) when a turn is active, [`Closed`](crate::ErrorKind::Closed),
    /// [`Storage`](crate::ErrorKind::Storage) when the log takes nothing more.
    pub fn start_turn(&self) -> Result<u32, Error> {
        let now = self.touch();
        let mut turns = lock(&self.turns);
        self.check_open()?;
        if turns.active.is_some() {
            return Err(Error::busy("a turn cannot be started"));
        }
        let number = turns.begin(now);
        self.set_turn_of_events(number);
        Ok(number)
    }

    /// Takes the place of a turn for other work, such as a compaction: until
    /// [`end_turn`](Conversation::end_turn) no turn can begin, and it can be aborted like one. It has no number
    /// of its own, and events carry none.
    ///
    /// # Errors
    ///
    /// As [`start_turn`](Conversation::start_turn).
    pub(crate) fn start_task(&self) -> Result<(), Error> {
        let now = self.touch();
        let mut turns = lock(&self.turns);
        self.check_not_closed()?;
        if turns.active.is_some() {
            return Err(Error::busy("the history cannot be compacted"));
        }
        turns.begin_task(now);
        Ok(())
    }

    /// Ends the active turn: as interrupted when it was aborted, otherwise as completed. Returns the input
    /// that nobody took. Questions that are still open are taken back, and the turn's token is cancelled.
    ///
    /// Without an active turn there is a warning in the program's diagnostics, and nothing else.
    pub fn end_turn(&self) -> Vec<String> {
        self.leave_turn(None)
    }

    /// The same for a turn of which is known how it `ended`.
    pub fn finish_turn(&self, ended: TurnEnd) -> Vec<String> {
        self.leave_turn(Some(ended))
    }

    fn leave_turn(&self, ended: Option<TurnEnd>) -> Vec<String> {
        let now = self.touch();
        let mut turns = lock(&self.turns);
        let Some(input) = turns.end(ended, now) else {
            tracing::warn!(conversation = %self.conversation_id, "no turn is active that could be ended");
            return Vec::new();
        };
        self.set_turn_of_events(0);
        drop(turns);
        self.turn_ended.notify_waiters();
        input
    }

    /// True while a turn is active, also while an aborted one comes to its end.
    #[must_use]
    pub fn is_active_turn(&self) -> bool {
        lock(&self.turns).active.is_some()
    }

    /// Waits until no turn is active.
    pub async fn idle(&self) {
        loop {
            let ended = self.turn_ended.notified();
            let mut ended = std::pin::pin!(ended);
            // From here on no end is missed.
            ended.as_mut().enable();
            if !self.is_active_turn() {
                return;
            }
            ended.await;
        }
    }

    /// Does `change` while no turn is active and none can begin; `what` says for an error what was to be
    /// done, such as "the history cannot be cleared". `change` must not ask this conversation for its turns.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) while a turn is active, [`Closed`](crate::ErrorKind::Closed).
    pub fn while_idle<R>(&self, what: &str, change: impl FnOnce() -> R) -> Result<R, Error> {
        let turns = lock(&self.turns);
        self.check_not_closed()?;
        if turns.active.is_some() {
            return Err(Error::busy(what));
        }
        Ok(change())
    }

    /// The active turn, as it is at this moment.
    #[must_use]
    pub fn current_turn(&self) -> Option<CurrentTurn> {
        lock(&self.turns).active.as_ref().map(ActiveTurn::now)
    }

    /// The number of the last turn that began; 0 before the first.
    #[must_use]
    pub fn last_turn(&self) -> u32 {
        lock(&self.turns).last_number()
    }

    /// The last 100 turns that have ended since the conversation was opened, oldest first.
    #[must_use]
    pub fn turn_history(&self) -> Vec<FinishedTurn> {
        lock(&self.turns).finished().iter().cloned().collect()
    }

    /// The token that is cancelled when the active turn is aborted or ends.
    #[must_use]
    pub fn turn_cancel(&self) -> Option<CancellationToken> {
        lock(&self.turns).active.as_ref().map(|turn| turn.cancel.clone())
    }

    /// Aborts the active turn: open questions are answered with [`ReviewDecision::Abort`], its token is
    /// cancelled, and the input that nobody took comes back. The turn stays active until whoever runs it
    /// calls [`end_turn`](Conversation::end_turn), and takes neither questions nor input any more. A second
    /// abort leaves the first reason. Without a turn nothing happens.
    pub fn abort_turn(&self, reason: TurnAbortReason) -> Vec<String> {
        let mut turns = lock(&self.turns);
        let Some(turn) = &mut turns.active else { return Vec::new() };
        turn.abort(reason);
        turn.take_input()
    }

    /// Why the active turn was aborted, or the last one when none is active.
    #[must_use]
    pub fn abort_reason(&self) -> Option<TurnAbortReason> {
        let turns = lock(&self.turns);
        match &turns.active {
            Some(turn) => turn.aborted,
            None => turns.finished().back().and_then(|turn| turn.aborted),
        }
    }

    /// Notes that the execution `execution_id` waits for a decision. A question about the same execution
    /// takes the place of the one before.
    pub fn insert_pending_approval(&self, execution_id: &str) -> ApprovalReceiver {
        match lock(&self.turns).open() {
            Some(turn) => turn.approvals.insert(execution_id),
            None => ApprovalReceiver::aborted(),
        }
    }

    /// Hands the decision to whoever waits for it; false when nobody does.
    pub fn notify_approval(&self, execution_id: &str, decision: ReviewDecision) -> bool {
        lock(&self.turns).open().is_some_and(|turn| turn.approvals.answer(execution_id, decision))
    }

    /// Takes a question back; false when there was none.
    pub fn remove_pending_approval(&self, execution_id: &str) -> bool {
        lock(&self.turns).open().is_some_and(|turn| turn.approvals.remove(execution_id))
    }

    /// The executions that wait for a decision, in alphabetical order.
    #[must_use]
    pub fn pending_approvals(&self) -> Vec<String> {
        lock(&self.turns).open().map(|turn| turn.approvals.executions()).unwrap_or_default()
    }

    /// Puts what the user says while the turn runs at the end of its waiting input.
    ///
    /// # Errors
    ///
    /// The text itself, when no turn is active that could take it, or there is nothing in it.
    pub fn inject_input(&self, text: impl Into<String>) -> Result<(), ReturnedInput> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(ReturnedInput::new(text, ReturnReason::Empty));
        }
        match lock(&self.turns).open() {
            Some(turn) => {
                turn.input.push_back(text);
                Ok(())
            }
            None => Err(ReturnedInput::new(text, ReturnReason::NoActiveTurn)),
        }
    }

    /// Takes all waiting input of the active turn, first come first.
    pub fn take_pending_input(&self) -> Vec<String> {
        lock(&self.turns).active.as_mut().map(ActiveTurn::take_input).unwrap_or_default()
    }

    /// True while input waits.
    #[must_use]
    pub fn has_pending_input(&self) -> bool {
        lock(&self.turns).active.as_ref().is_some_and(|turn| !turn.input.is_empty())
    }

    /// Asks the active turn to stop: sets the flag, and aborts the turn as
    /// [`abort_turn`](Conversation::abort_turn) does, except that input stays for
    /// [`end_turn`](Conversation::end_turn) to return. The flag stands until it is cleared or the next turn
    /// begins.
    pub fn request_interrupt(&self) {
        let mut turns = lock(&self.turns);
        turns.interrupt = true;
        if let Some(turn) = &mut turns.active {
            turn.abort(TurnAbortReason::Interrupted);
        }
    }

    /// Aborts the active turn for `reason`; its input stays for [`end_turn`](Conversation::end_turn).
    pub(crate) fn interrupt_because(&self, reason: TurnAbortReason) {
        if let Some(turn) = &mut lock(&self.turns).active {
            turn.abort(reason);
        }
    }

    /// Whether an interrupt was asked for.
    #[must_use]
    pub fn is_interrupt_requested(&self) -> bool {
        lock(&self.turns).interrupt
    }

    /// Takes the flag back. A turn that was aborted stays so.
    pub fn clear_interrupt(&self) {
        lock(&self.turns).interrupt = false;
    }

    /// Says whether the active turn is running tools, for [`execution_state`](Conversation::execution_state).
    pub fn set_executing(&self, executing: bool) {
        if let Some(turn) = &mut lock(&self.turns).active {
            turn.executing = executing;
        }
    }

    /// What the conversation is doing.
    #[must_use]
    pub fn execution_state(&self) -> ExecutionState {
        ExecutionState::of(&lock(&self.turns))
    }

    /// Adds tokens to the active turn.
    pub(super) fn add_turn_tokens(&self, tokens: u64) {
        if let Some(turn) = &mut lock(&self.turns).active {
            turn.tokens = turn.tokens.saturating_add(tokens);
        }
    }

    /// Lets no turn begin any more, and aborts the one that runs.
    pub(super) fn close_turns(&self, close: impl FnOnce()) {
        let mut turns = lock(&self.turns);
        close();
        if let Some(turn) = &mut turns.active {
            turn.abort(TurnAbortReason::Interrupted);
        }
    }
}
