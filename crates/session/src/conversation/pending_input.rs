//! What the user says while a turn runs.

use std::fmt;

/// Input that was not taken: the text comes back to whoever gave it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input was not taken: {reason}")]
#[non_exhaustive]
pub struct ReturnedInput {
    /// The input.
    pub text: String,
    /// Why it was not taken.
    pub reason: ReturnReason,
}

/// Why input was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReturnReason {
    /// No turn is active, or the one that is has been aborted: make it the prompt of the next.
    NoActiveTurn,
    /// There is no text in it.
    Empty,
}

impl ReturnedInput {
    pub(super) fn new(text: String, reason: ReturnReason) -> Self {
        Self { text, reason }
    }
}

impl fmt::Display for ReturnReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoActiveTurn => "no turn is active",
            Self::Empty => "it is empty",
        })
    }
}

// Not the text, which may be private.
impl fmt::Debug for ReturnedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReturnedInput").field("reason", &self.reason).finish_non_exhaustive()
    }
}
