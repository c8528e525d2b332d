//! What a helper is told to do to itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The layers to apply and with what; those that are named must succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) namespaces: Namespaces,
    pub(super) network: Network,
    pub(super) paths: Paths,
    pub(super) landlock: bool,
    pub(super) system_calls: bool,
    pub(super) capabilities: bool,
    pub(super) unix_sockets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Namespaces {
    None,
    /// With a user namespace around them.
    Owned,
    /// Without: the process is privileged.
    Privileged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Network {
    Open,
    /// A namespace with a loopback.
    Loopback,
    /// No sockets of the internet.
    NoSockets,
    /// A namespace whose loopback has a listener that is served outside.
    ServedLoopback,
    /// TCP connections to this port only.
    Port(u16),
}

/// Absolute, without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paths {
    /// Writable, with protected names inside.
    pub(super) guarded: Vec<PathBuf>,
    /// Writable as a whole.
    pub(super) scratch: Vec<PathBuf>,
    pub(super) read_only: Vec<PathBuf>,
    pub(super) hidden: Vec<PathBuf>,
}

impl Paths {
    /// Everything that is writable, outer folders first.
    pub(super) fn writable(&self) -> Vec<&PathBuf> {
        let mut all: Vec<_> = self.guarded.iter().chain(&self.scratch).collect();
        all.sort();
        all.dedup();
        all
    }
}
