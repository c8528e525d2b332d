//! What of the sandbox a system has.

use serde::{Deserialize, Serialize};

/// The layers of the sandbox, as they were tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SandboxStatus {
    /// A mount namespace of its own with everything read-only but some folders: protects names inside of
    /// writable folders, and hides files.
    pub mounts: Layer,
    /// The mount namespace belongs to a user namespace, which keeps processes outside out of reach.
    pub user_namespace: Layer,
    /// A network with nothing but a loopback.
    pub network_namespace: Layer,
    /// Landlock: changes beneath given folders only.
    pub landlock: Layer,
    /// The version of Landlock's interface; 0 without it. From 3 on it covers truncation, from 4 on TCP, from 6
    /// on signals and abstract Unix sockets.
    pub landlock_abi: u8,
    /// A filter of system calls by seccomp.
    pub system_calls: Layer,
    /// Capabilities given up.
    pub capabilities: Layer,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Layer {
    /// It works.
    Enforced,
    /// It does not.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl Layer {
    /// A layer that does not work.
    pub(super) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }

    /// Whether it works.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        *self == Self::Enforced
    }

    /// Why it does not work.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Enforced => None,
            Self::Unavailable { reason } => Some(reason),
        }
    }
}

impl SandboxStatus {
    /// Nothing works, for one reason.
    pub(super) fn unavailable(reason: &str) -> Self {
        let layer = || Layer::unavailable(reason);
        Self {
            mounts: layer(),
            user_namespace: layer(),
            network_namespace: layer(),
            landlock: layer(),
            landlock_abi: 0,
            system_calls: layer(),
            capabilities: layer(),
        }
    }
}
