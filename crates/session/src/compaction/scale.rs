//! Weighs histories: what must be freed, and whether it was.

use robota_core::{Agent, Calibration, CompactTrigger, ContextState, History, HistoryHead, MessageRef};

use super::budget::{Budget, tokens_of};
use super::plan::Plan;
use super::{CompactionError, CompactionRequest, Shortfall};

/// Weighs the history that is to be compacted against the one it would become.
///
/// Both sides are estimated from their bytes, even where a provider has counted the one that is: its count
/// and an estimate cannot be compared.
pub(super) struct Scale<'a> {
    agent: &'a Agent,
    request: &'a CompactionRequest,
    /// Bytes of all messages.
    bytes: u64,
    fixed: u64,
    calibration: Calibration,
}

impl<'a> Scale<'a> {
    /// A scale for a history of `bytes`, whose tokens are counted as `calibration` says.
    pub(super) fn new(
        agent: &'a Agent,
        request: &'a CompactionRequest,
        bytes: u64,
        calibration: Calibration,
    ) -> Self {
        let fixed = agent.context_state(&History::default().with_calibration(calibration)).used_tokens;
        Self { agent, request, bytes, fixed, calibration }
    }

    /// How much there is to write and keep, and the plans to try, one after the other. `expected` says how full
    /// the window is with the message that is about to be added.
    pub(super) fn plans(
        &self,
        messages: &[MessageRef],
        sizes: &[u64],
        expected: &ContextState,
    ) -> Result<(Budget, Vec<Plan>), CompactionError> {
        let config = self.agent.config();
        let window = config.context_window;
        let limit = self.request.goal.filter(|_| window > 0).map(|goal| goal.share());
        let systems = messages.iter().zip(sizes).filter(|(message, _)| message.role() == "system");
        let systems: u64 = systems.map(|(_, size)| size).sum();
        let fixed = self.calibration.bytes(self.fixed);
        let taken = fixed.saturating_add(systems).saturating_add(self.request.coming_bytes);
        // The budget is one of estimated bytes: where the provider counts more, fewer of them fit.
        let room = tokens_of(self.calibration.bytes(window));
        let Some(budget) = Budget::new(room, limit, taken, config.max_output_tokens) else {
            return Err(CompactionError::NotEnough(self.shortfall(self.calibration.tokens(taken), 0)));
        };
        let pressed = self.request.trigger != CompactTrigger::Manual;
        let caps = if pressed { &[self.bytes / 2, 0][..] } else { &[u64::MAX] };
        let mut plans: Vec<Plan> = Vec::with_capacity(caps.len());
        for plan in caps.iter().filter_map(|cap| Plan::new(messages, sizes, &budget, *cap)) {
            if plans.last().is_none_or(|last| last.cut < plan.cut) {
                plans.push(plan);
            }
        }
        if plans.is_empty() {
            return Err(self.nothing(expected));
        }
        Ok((budget, plans))
    }

    /// What `messages` fall short of; `None` when they are good enough.
    pub(super) fn judge(&self, messages: &[MessageRef]) -> Option<Shortfall> {
        let bytes: u64 = messages.iter().map(|message| message.estimated_bytes()).sum();
        let candidate = History::restored(messages.to_vec(), Vec::new(), HistoryHead::default(), bytes);
        let candidate = candidate.with_calibration(self.calibration);
        let state = self.agent.context_state_with(&candidate, self.request.coming_bytes);
        let summary = messages.first().map_or(0, |message| message.estimated_bytes());
        (bytes >= self.bytes || self.is_too_full(&state))
            .then(|| self.shortfall(state.used_tokens, self.calibration.tokens(summary)))
    }

    fn is_too_full(&self, state: &ContextState) -> bool {
        let goal = self.request.goal.filter(|_| state.max_tokens > 0);
        goal.is_some_and(|goal| state.used_percentage >= goal.share() * 100.0)
    }

    /// There is nothing to summarise: a failure where room is needed.
    fn nothing(&self, expected: &ContextState) -> CompactionError {
        if self.is_too_full(expected) {
            return CompactionError::NotEnough(self.shortfall(self.before(), 0));
        }
        CompactionError::Nothing
    }

    fn before(&self) -> u64 {
        let bytes = self.bytes.saturating_add(self.request.coming_bytes);
        self.fixed.saturating_add(self.calibration.tokens(bytes))
    }

    fn shortfall(&self, after: u64, summary: u64) -> Shortfall {
        Shortfall {
            goal: self.request.goal,
            window: self.agent.config().context_window,
            before: self.before(),
            after,
            fixed: self.fixed,
            kept: after.saturating_sub(self.fixed + summary),
            summary,
        }
    }
}
