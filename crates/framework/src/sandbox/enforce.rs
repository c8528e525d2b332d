//! What the system enforces.

use std::path::Path;

use super::{SandboxPlan, SandboxState};

/// Tries to enforce `plan` with `helper`.
pub(super) fn enforce(_plan: &SandboxPlan, _helper: &Path) -> SandboxState {
    SandboxState::Unavailable { reason: "this version has no sandbox for this system".to_owned() }
}

/// Status.
pub fn system_status(_helper: &Path) {}
