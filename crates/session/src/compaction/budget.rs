//! How much room there is for what a compaction writes and keeps.

/// The window that is assumed where its size is not known, in tokens.
const UNKNOWN_WINDOW: u64 = 100_000;

/// No window is larger, whatever a host or a log says: sizes can be multiplied without a thought.
const LARGEST_WINDOW: u64 = 1 << 40;

/// Most tokens of a summary, whatever the window: all current models can write as much.
const LONGEST_SUMMARY: u64 = 8_000;

/// The share of the window to come under where nothing else is asked for, in percent.
const USUAL_LIMIT: u64 = 80;

/// Bytes of a message besides its text: id, time, marks, notes.
pub(super) const ENVELOPE: u64 = 400;

/// The bytes of `tokens`, by the estimate of the engine: 3.6 a token.
pub(super) const fn bytes_of(tokens: u64) -> u64 {
    tokens.saturating_mul(18) / 5
}

/// The tokens of `bytes`, by the same estimate.
pub(super) const fn tokens_of(bytes: u64) -> u64 {
    (bytes.saturating_mul(5)).div_ceil(18)
}

/// What may take how much, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// Most tokens of one summary, as the model is told and limited.
    pub(super) summary_tokens: u32,
    /// The text of a summary.
    pub(super) summary: u64,
    /// All text of one summarising request: 60 % of the window, so that answer and errors of the
    /// estimate find room too.
    pub(super) request: u64,
    /// The part of the window that messages may fill.
    room: u64,
    /// Most of the window that is kept as it was.
    share: u64,
}

impl Budget {
    /// The budget in a window of `window` tokens, 0 for unknown. `limit` is the share that must be come under,
    /// `taken` the bytes that no compaction can free. `None` when these alone reach the limit.
    pub(super) fn new(window: u64, limit: Option<f64>, taken: u64, most_output: Option<u32>) -> Option<Self> {
        let tokens = if window == 0 { UNKNOWN_WINDOW } else { window.min(LARGEST_WINDOW) };
        let bytes = bytes_of(tokens);
        let free = match limit {
            Some(share) => {
                part(bytes, share).checked_sub(taken.saturating_add(ENVELOPE)).filter(|free| *free > 0)?
            }
            // Nothing is enforced, so there is always some room to plan with.
            None => (bytes * USUAL_LIMIT / 100).saturating_sub(taken).max(bytes / 10),
        };
        // A tenth stays free, so that the limit is not reached again at once.
        let room = free - free / 10;
        let longest = LONGEST_SUMMARY.min(tokens / 10).min(tokens_of(room / 4)).max(1);
        let summary_tokens = u32::try_from(longest).unwrap_or(u32::MAX).min(most_output.unwrap_or(u32::MAX));
        let summary = bytes_of(summary_tokens.into());
        Some(Self { summary_tokens, summary, request: bytes * 3 / 5, room, share: bytes / 4 })
    }

    /// What the prompts of the request in progress may take.
    pub(super) const fn pinned(&self) -> u64 {
        self.room / 2
    }

    /// What may stay as it was at the end of the history, beside `pinned` bytes of prompts.
    pub(super) fn tail(&self, pinned: u64) -> u64 {
        self.share.min(self.room.saturating_sub(self.summary + pinned))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "windows are far below 2^52 bytes, and shares between 0 and 1"
)]
fn part(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_together_stays_under_the_limit() {
        let budget = Budget::new(200_000, Some(0.835), bytes_of(10_000), None).unwrap();
        assert_eq!((budget.summary_tokens, budget.request), (8_000, bytes_of(120_000)));
        assert_eq!(budget.tail(0), bytes_of(50_000));
        for pinned in [0, budget.pinned() / 2, budget.pinned()] {
            let all = budget.summary + pinned + budget.tail(pinned) + ENVELOPE + bytes_of(10_000);
            assert!(all < bytes_of(167_000), "{all}");
        }
    }

    #[test]
    fn what_cannot_be_freed_may_leave_no_room() {
        assert_eq!(Budget::new(1_000, Some(0.5), bytes_of(500), None), None);
        let manual = Budget::new(1_000, None, bytes_of(5_000), None).unwrap();
        assert!(manual.tail(0) > 0 && manual.summary > 0);
    }

    #[test]
    fn without_a_window_a_careful_one_is_assumed() {
        let budget = Budget::new(0, None, 0, Some(1_000)).unwrap();
        assert_eq!((budget.request, budget.summary_tokens), (bytes_of(60_000), 1_000));
    }
}
