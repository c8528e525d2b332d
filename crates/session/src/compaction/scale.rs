//! Weighs histories: what must be freed, and whether it was.

use robota_core::{Agent, CompactTrigger, ContextState, History, HistoryHead, MessageRef};

use super::budget::{Budget, bytes_of, tokens_of};
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
}

impl<'a> Scale<'a> {
    /// A scale for a history of `bytes`.
    pub(super) fn new(agent: &'a Agent, request: &'a CompactionRequest, bytes: u64) -> Self {
        let fixed = agent.context_state(&History::default()).used_tokens;
        Self { agent, request, bytes, fixed }
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
        let taken = bytes_of(self.fixed).saturating_add(systems).saturating_add(self.request.coming_bytes);
        let Some(budget) = Budget::new(window, limit, taken, config.max_output_tokens) else {
            return Err(CompactionError::NotEnough(self.shortfall(tokens_of(taken), 0)));
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
        let state = self.agent.context_state_with(&candidate, self.request.coming_bytes);
        let summary = messages.first().map_or(0, |message| message.estimated_bytes());
        (bytes >= self.bytes || self.is_too_full(&state))
            .then(|| self.shortfall(state.used_tokens, tokens_of(summary)))
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
        self.fixed.saturating_add(tokens_of(self.bytes.saturating_add(self.request.coming_bytes)))
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
