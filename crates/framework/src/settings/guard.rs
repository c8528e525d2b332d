//! Settings about hooks and about what may never be switched on.

use std::collections::BTreeMap;

use robota_core::PermissionMode;
use secrecy::SecretString;

/// What becomes of a call whose guard, a PreToolUse hook, did not do its work (`hookFailure`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a guard that fails either stops the call or does not")]
pub enum GuardFailure {
    /// It goes on as if there were no such hook.
    Open,
    /// It does not run.
    Closed,
}

/// `defaultTrustLevel`, the older word for a mode (facts sheet 2.6).
pub(super) const TRUST_LEVELS: [(&str, PermissionMode); 3] = [
    ("safe", PermissionMode::Plan),
    ("moderate", PermissionMode::Default),
    ("full", PermissionMode::AcceptEdits),
];

/// Variables by name. Values may be credentials: `Debug` does not show them.
pub type Variables = BTreeMap<String, SecretString>;
