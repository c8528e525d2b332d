//! What a conversation is doing.

use robota_core::TurnEnd;
use serde::{Deserialize, Serialize};

use super::active_turn::{ActiveTurn, Turns};

/// What a conversation is doing (facts sheet 12.1). Never stored: it follows from the turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExecutionState {
    /// No turn is active.
    #[default]
    Idle,
    /// A turn is active, and nothing below holds.
    Processing,
    /// Tools run.
    Executing,
    /// Somebody is asked whether something may run.
    Waiting,
    /// The active turn was aborted and is coming to its end.
    Interrupted,
    /// No turn is active, and the last one failed.
    Error,
}

impl ExecutionState {
    pub(super) fn of(turns: &Turns) -> Self {
        match &turns.active {
            Some(ActiveTurn { aborted: Some(_), .. }) => Self::Interrupted,
            Some(turn) if !turn.approvals.is_empty() => Self::Waiting,
            Some(ActiveTurn { executing: true, .. }) => Self::Executing,
            Some(_) => Self::Processing,
            None if turns.finished().back().is_some_and(|turn| turn.ended == TurnEnd::Failed) => Self::Error,
            None => Self::Idle,
        }
    }
}
