//! The terms that events use.

use serde::{Deserialize, Serialize};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model finished.
    Completed,
    /// The turn was aborted.
    Interrupted,
    /// The rounds ran out.
    MaxRounds,
    /// The context window is nearly full.
    ContextFull,
    /// The model declined, or a filter ended the answer.
    Refused,
    /// The model's answer reached the output limit.
    OutputLimit,
    /// The turn failed; the error precedes.
    Failed,
    /// A hook did not let the prompt through; the model was not called.
    Blocked,
    /// A hook ended the turn; the `hook` event that says why precedes.
    Stopped,
}

/// What a model call is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestPurpose {
    /// A round of a turn.
    #[default]
    Turn,
    /// The summary of a compaction; the round is the number of its part.
    Compaction,
}

impl RequestPurpose {
    pub(super) const fn is_turn(&self) -> bool {
        matches!(self, Self::Turn)
    }
}

/// What a native payload is (facts sheet 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PayloadKind {
    /// The request as it was sent.
    Request,
    /// The answer as it came, in one piece.
    Response,
    /// Events of a streamed answer, in a list.
    StreamEvent,
}

/// What asked for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactTrigger {
    /// A person, or a program in a person's place.
    Manual,
    /// The session, because the window is filling up or the provider refused the length.
    Auto,
}

/// How a question about a tool call was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionResolution {
    /// Allowed this once.
    Allowed,
    /// Allowed, and so is what its rule covers, until the session ends.
    AllowedForSession,
    /// Allowed, and its rules are kept for the project.
    AllowedForProject,
    /// Not allowed.
    Denied,
    /// The turn was aborted before an answer came.
    Aborted,
}

/// How full the context window is (seed `000`, `getContextState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextState {
    /// Tokens in use, as far as known.
    pub used_tokens: u64,
    /// Size of the window.
    pub max_tokens: u64,
    /// Share in use, from 0 to 100 and beyond.
    pub used_percentage: f64,
}
