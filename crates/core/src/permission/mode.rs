//! Permission modes of the seed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What happens to a call that no rule decides (seed `001`, Permission System).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PermissionMode {
    /// Look only: nothing is changed or run.
    Plan,
    /// Changes and commands are asked for.
    #[default]
    Default,
    /// File changes inside the workspace go through; commands are asked for.
    AcceptEdits,
    /// Everything goes through that no rule denies or asks for.
    BypassPermissions,
}

impl PermissionMode {
    /// All modes, most careful first.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Default, Self::AcceptEdits, Self::BypassPermissions];

    /// The name used in settings, flags and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not a permission mode.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a permission mode; use plan, default, acceptEdits or bypassPermissions")]
pub struct InvalidMode(String);

impl FromStr for PermissionMode {
    type Err = InvalidMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| InvalidMode(text.to_owned()))
    }
}
