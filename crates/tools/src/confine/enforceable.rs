//! What of a policy a system can enforce, and by which layers.

use super::plan::{Namespaces, Network};
use super::policy::{NetworkPolicy, SandboxPolicy};
use super::status::{Layer, SandboxStatus};

/// From this version on Landlock covers truncation.
const ABI_OF_TRUNCATION: u8 = 3;
/// From this version on Landlock covers TCP.
const ABI_OF_TCP: u8 = 4;
/// From this version on Landlock covers signals.
const ABI_OF_SIGNALS: u8 = 6;

impl SandboxStatus {
    pub(super) fn namespaces(&self) -> Namespaces {
        match (&self.mounts, &self.user_namespace) {
            (Layer::Unavailable { .. }, _) => Namespaces::None,
            (Layer::Enforced, Layer::Enforced) => Namespaces::Owned,
            (Layer::Enforced, Layer::Unavailable { .. }) => Namespaces::Privileged,
        }
    }

    pub(super) fn network(&self, policy: &NetworkPolicy) -> Network {
        let namespace = self.network_namespace.is_enforced();
        match policy {
            NetworkPolicy::Off if namespace => Network::Loopback,
            NetworkPolicy::Proxy(_) if namespace => Network::ServedLoopback,
            NetworkPolicy::Off if self.system_calls.is_enforced() => Network::NoSockets,
            NetworkPolicy::Proxy(_) if self.filters_ports() => Network::Port(0),
            // No way past the proxy that can be closed: better none at all than every one.
            NetworkPolicy::Proxy(_) if self.system_calls.is_enforced() => Network::NoSockets,
            NetworkPolicy::Open | NetworkPolicy::Off | NetworkPolicy::Proxy(_) => Network::Open,
        }
    }

    fn filters_ports(&self) -> bool {
        self.landlock_abi >= ABI_OF_TCP && self.system_calls.is_enforced()
    }

    /// What of `policy` cannot be enforced.
    pub(super) fn weaknesses(&self, policy: &SandboxPolicy) -> Vec<String> {
        let because = |layer: &Layer| layer.reason().unwrap_or("not available").to_owned();
        let mut weak = Vec::new();
        if !self.mounts.is_enforced() {
            let reason = because(&self.mounts);
            weak.push(format!("protected files in writable folders are not protected ({reason})"));
            if !policy.deny_read.is_empty() {
                weak.push(format!("files can be read that should be hidden ({reason})"));
            }
            if self.landlock_abi < ABI_OF_TRUNCATION {
                weak.push(format!("files outside can be changed ({})", because(&self.landlock)));
            }
        } else if !self.landlock.is_enforced() {
            weak.push(format!("devices can be written to ({})", because(&self.landlock)));
        }
        if self.landlock_abi < ABI_OF_SIGNALS {
            weak.push(format!("signals reach other processes of the user ({})", because(&self.landlock)));
        }
        if !self.system_calls.is_enforced() {
            let reason = because(&self.system_calls);
            weak.push(format!("system calls are not filtered, Unix sockets can be reached ({reason})"));
        }
        weak.extend(self.weakness_of_network(policy));
        weak
    }

    fn weakness_of_network(&self, policy: &SandboxPolicy) -> Option<String> {
        let reason = || self.network_namespace.reason().unwrap_or("not available");
        match (&policy.network, self.network(&policy.network)) {
            (NetworkPolicy::Off | NetworkPolicy::Proxy(_), Network::Open) => {
                Some(format!("the network can be reached ({})", reason()))
            }
            (NetworkPolicy::Proxy(_), Network::NoSockets) => {
                Some(format!("the proxy cannot be reached, nor anything else of the network ({})", reason()))
            }
            _ => None,
        }
    }
}
