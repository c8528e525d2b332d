//! Other systems than Linux have no sandbox yet; it says so.

use std::ffi::OsString;

use super::policy::{Demand, Helper, HelperEnd, SandboxPolicy};
use super::status::SandboxStatus;
use crate::process::{CommandLine, Confine, ConfineError, Confined};

const REASON: &str = "this system is not Linux";

/// Confines commands by the means of Linux, which this system is not.
#[derive(Debug)]
pub struct LinuxSandbox {
    status: SandboxStatus,
    weaknesses: Vec<String>,
}

impl LinuxSandbox {
    /// Nothing is confined here.
    ///
    /// # Errors
    ///
    /// When the policy is [`Demand::Required`].
    pub fn new(policy: &SandboxPolicy, helper: Helper) -> Result<Self, ConfineError> {
        let status = probe(&helper);
        Self::with_status(policy, helper, status)
    }

    /// The same with what [`probe`] has found.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[expect(clippy::needless_pass_by_value, reason = "as on Linux")]
    pub fn with_status(
        policy: &SandboxPolicy,
        _helper: Helper,
        status: SandboxStatus,
    ) -> Result<Self, ConfineError> {
        let weakness = format!("commands are not confined at all ({REASON})");
        match policy.demand {
            Demand::Required => Err(ConfineError::new(format!("the settings demand a sandbox: {weakness}"))),
            Demand::BestEffort => Ok(Self { status, weaknesses: vec![weakness] }),
        }
    }

    /// What the system has.
    #[must_use]
    pub fn status(&self) -> &SandboxStatus {
        &self.status
    }

    /// What of the policy is not enforced here, each in a sentence for a person.
    #[must_use]
    pub fn weaknesses(&self) -> &[String] {
        &self.weaknesses
    }
}

impl Confine for LinuxSandbox {
    fn confine(&self, command: CommandLine) -> Result<Confined, ConfineError> {
        Ok(Confined::plain(command))
    }
}

/// Nothing is there to try.
#[must_use]
pub fn probe(_helper: &Helper) -> SandboxStatus {
    SandboxStatus::unavailable(REASON)
}

/// There is nothing to help with.
#[must_use]
pub fn helper_main(_arguments: impl IntoIterator<Item = OsString>) -> HelperEnd {
    HelperEnd::failed(format!("the sandbox is not available: {REASON}"))
}
