//! Why a turn was aborted.

use serde::{Deserialize, Serialize};

/// Why a turn was aborted (facts sheet 12.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnAbortReason {
    /// The user interrupted it.
    #[default]
    Interrupted,
    /// Other work took its place.
    Replaced,
    /// Something went wrong around it.
    Error,
    /// It took too long.
    Timeout,
}
