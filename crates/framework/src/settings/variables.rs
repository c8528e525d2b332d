//! Settings that several files of the program speak of: variables and the older word for a mode.

use std::collections::BTreeMap;

use robota_core::PermissionMode;
use secrecy::SecretString;

/// `defaultTrustLevel`, the older word for a mode (facts sheet 2.6).
pub(super) const TRUST_LEVELS: [(&str, PermissionMode); 3] = [
    ("safe", PermissionMode::Plan),
    ("moderate", PermissionMode::Default),
    ("full", PermissionMode::AcceptEdits),
];

/// Variables by name. Values may be credentials: `Debug` does not show them.
pub type Variables = BTreeMap<String, SecretString>;
