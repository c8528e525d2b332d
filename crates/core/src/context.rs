//! How full the context window is: an estimate that costs nothing to ask for.

use crate::{ContextState, History};

/// From this share on, remaining tool results of a batch are skipped (seed `000`; facts sheet 2.8).
const CROWDED: f64 = 0.80;

/// From this share on, the model is not called any more.
const FULL: f64 = 0.95;

/// The context window of a session, and what stands in it besides messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContextWindow {
    max_tokens: u64,
    fixed_bytes: u64,
}

impl ContextWindow {
    /// A window of `max_tokens` (0 = unknown, never full) that holds `fixed_bytes` of system prompt and tools, as
    /// they are estimated.
    pub(crate) const fn new(max_tokens: u64, fixed_bytes: u64) -> Self {
        Self { max_tokens, fixed_bytes }
    }

    /// The provider's last count plus an estimate of what came after it; without a count, an
    /// estimate of everything. Estimates are scaled by what the provider's counts were beside them so far.
    pub(crate) fn state(&self, history: &History) -> ContextState {
        self.state_with(history, 0)
    }

    /// The same with a message of `more` bytes that is not in the history yet.
    pub(crate) fn state_with(&self, history: &History, more: u64) -> ContextState {
        let (counted, bytes) = match history.counted_tokens() {
            Some((tokens, bytes_since)) => (tokens, bytes_since),
            None => (0, history.message_bytes() + self.fixed_bytes),
        };
        let used_tokens = counted.saturating_add(history.calibration().tokens(bytes.saturating_add(more)));
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let used_percentage =
            if self.max_tokens == 0 { 0.0 } else { used_tokens as f64 * 100.0 / self.max_tokens as f64 };
        ContextState { used_tokens, max_tokens: self.max_tokens, used_percentage }
    }

    /// Tokens that a message of `bytes` would take beyond what the window can still hold; `None` when it fits.
    pub(crate) fn excess(&self, history: &History, bytes: u64) -> Option<Excess> {
        let room = (u128::from(self.max_tokens) * 95 / 100) as u64;
        let used = self.state(history).used_tokens;
        let needed = history.calibration().tokens(bytes);
        let too_much = self.max_tokens > 0 && used <= room && used + needed > room;
        too_much.then(|| Excess { needed, left: room - used })
    }

    /// Too full for more tool results.
    pub(crate) fn is_crowded(&self, history: &History) -> bool {
        self.state(history).used_percentage > CROWDED * 100.0
    }

    /// Too full for another model call.
    pub(crate) fn is_full(&self, history: &History) -> bool {
        self.state(history).used_percentage > FULL * 100.0
    }
}

/// What a message would need, and what is left for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Tokens of the message.
    pub(crate) needed: u64,
    /// Tokens the window can still take.
    pub(crate) left: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Message, Timestamp};

    fn history_with_usage() -> History {
        let mut history = History::default();
        history.append(Message::user("u1", Timestamp::default(), "question"));
        let mut answer = Message::assistant("a1", Timestamp::default(), "answer");
        answer.metadata.insert("usage".into(), json!({"inputTokens": 700, "outputTokens": 100}));
        history.append(answer);
        history
    }

    #[test]
    fn the_provider_count_stands_and_only_what_follows_is_estimated() {
        let window = ContextWindow::new(1_000, 3_600);
        let mut history = history_with_usage();
        assert_eq!(window.state(&history).used_tokens, 800);
        assert!(!window.is_crowded(&history));
        let before = history.message_bytes();
        history.append(Message::user("u2", Timestamp::default(), "x".repeat(600)));
        let added = history.message_bytes() - before;
        assert_eq!(window.state(&history).used_tokens, 800 + (added * 10).div_ceil(36));
        assert!(window.is_crowded(&history));
        assert!(window.is_full(&history));
    }

    #[test]
    fn without_a_count_system_prompt_and_tools_are_part_of_the_estimate() {
        let window = ContextWindow::new(2_000, 3_600);
        assert_eq!(window.state(&History::default()).used_tokens, 1_000);
        assert!((window.state(&History::default()).used_percentage - 50.0).abs() < f64::EPSILON);
    }

    #[test]
    fn an_unknown_window_is_never_full() {
        let window = ContextWindow::new(0, 1_000_000);
        assert!(!window.is_crowded(&history_with_usage()));
    }
}
