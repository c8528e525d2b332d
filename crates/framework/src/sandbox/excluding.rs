//! Commands that run outside of the sandbox.

use std::sync::Arc;

use robota_core::PermissionPolicy;
use robota_tools::process::{CommandLine, Confine, ConfineError, Confined};

/// Confines every command but those that the policy excludes, by the same reading by which it has judged them.
#[derive(Debug)]
pub(super) struct Excluding {
    policy: PermissionPolicy,
    inner: Arc<dyn Confine>,
}

impl Excluding {
    pub(super) fn new(policy: &PermissionPolicy, inner: Arc<dyn Confine>) -> Self {
        Self { policy: policy.clone(), inner }
    }

    /// Whether `command` is a line for a shell that is excluded.
    fn is_excluded(&self, command: &CommandLine) -> bool {
        match &command.arguments[..] {
            [flag, line] if flag == "-c" => {
                line.to_str().is_some_and(|line| self.policy.is_excluded(line, &command.directory))
            }
            _ => false,
        }
    }
}

impl Confine for Excluding {
    fn confine(&self, command: CommandLine) -> Result<Confined, ConfineError> {
        if self.is_excluded(&command) { Ok(Confined::plain(command)) } else { self.inner.confine(command) }
    }

    fn confines(&self, command: &CommandLine) -> bool {
        !self.is_excluded(command) && self.inner.confines(command)
    }
}
