//! What the answer to a question comes to, whoever gave it.

use robota_core::PermissionResolution;

use super::PermissionAnswer;
use crate::ReviewDecision;

/// Why a call may not run whose turn was aborted.
pub(super) const INTERRUPTED: &str = "the turn was interrupted";

/// Why a call may not run that a person said no to without giving a reason.
pub(super) const NOT_ALLOWED: &str = "the user did not allow this";

/// What an answer comes to.
pub(super) struct Answer {
    /// How far it reaches.
    pub(super) resolution: PermissionResolution,
    /// Why the call may not run.
    pub(super) refusal: Option<String>,
    /// The turn is to end.
    pub(super) ends_turn: bool,
}

impl Answer {
    pub(super) fn of_person(answer: PermissionAnswer) -> Self {
        let (resolution, refusal) = match answer {
            PermissionAnswer::Allow => (PermissionResolution::Allowed, None),
            PermissionAnswer::AllowForSession => (PermissionResolution::AllowedForSession, None),
            PermissionAnswer::AllowForProject => (PermissionResolution::AllowedForProject, None),
            PermissionAnswer::Deny { reason } => (PermissionResolution::Denied, Some(reason)),
        };
        Self { resolution, refusal, ends_turn: false }
    }

    pub(super) fn of_decision(decision: ReviewDecision) -> Self {
        let refused = |resolution, reason: &str, ends_turn| Self {
            resolution,
            refusal: Some(reason.to_owned()),
            ends_turn,
        };
        match decision {
            ReviewDecision::Approved => Self::of_person(PermissionAnswer::Allow),
            ReviewDecision::ApprovedForSession => Self::of_person(PermissionAnswer::AllowForSession),
            ReviewDecision::ApprovedForProject => Self::of_person(PermissionAnswer::AllowForProject),
            ReviewDecision::Denied => refused(PermissionResolution::Denied, NOT_ALLOWED, false),
            ReviewDecision::Abort => refused(PermissionResolution::Aborted, INTERRUPTED, true),
        }
    }
}
