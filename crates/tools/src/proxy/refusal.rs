//! Hosts that were not reached, for the command to see and for the result to tell.

use std::sync::{Mutex, PoisonError};

/// Hosts that are kept; a command may try any number.
const MAX_KEPT: usize = 20;

/// A host that a command tried to reach and may not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedHost {
    /// The host in lower case, or what stood in its place.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why, in a sentence, as the command was told.
    pub reason: String,
}

/// The first hosts that were refused, each once.
#[derive(Debug, Default)]
pub(super) struct RefusedHosts {
    hosts: Mutex<Vec<RefusedHost>>,
}

impl RefusedHosts {
    pub(super) fn add(&self, refused: RefusedHost) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = hosts.iter().any(|known| known.host == refused.host && known.port == refused.port);
        if !is_known && hosts.len() < MAX_KEPT {
            hosts.push(refused);
        }
    }

    pub(super) fn take(&self) -> Vec<RefusedHost> {
        std::mem::take(&mut *self.hosts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
