//! The sandbox of a session: what settings and flags ask for, and what of it the system enforces.
//!
//! [`SandboxPlan`] is what was asked for, [`Sandbox`] what came of it. Where the system lacks a part, commands run as
//! without a sandbox and a person is told, or, where the settings demand it, they do not run at all.

mod enforce;
mod excluding;
mod plan;
mod proxy;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{CommandConfinement, PermissionPolicy};
use robota_tools::process::{CommandLine, Confine, ConfineError, Confined};

pub use enforce::{SANDBOX_HELPER_ARGUMENT, system_status as system_sandbox_status};
use excluding::Excluding;
pub use plan::SandboxPlan;

/// What became of a plan on this system.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sandbox {
    /// What was asked for.
    pub plan: SandboxPlan,
    /// What there is.
    pub state: SandboxState,
}

/// Whether commands run confined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SandboxState {
    /// Nobody asked for it.
    Off,
    /// They do.
    On {
        /// What confines them.
        confine: Arc<dyn Confine>,
        /// What of the plan the system does not enforce, for a person; empty when all of it is.
        weaknesses: Vec<String>,
    },
    /// They cannot.
    Unavailable {
        /// Why, in a sentence for a person.
        reason: String,
    },
    /// What was asked for cannot be meant, such as all files as writable; no command runs until that is mended.
    Refused {
        /// Why, in a sentence for a person.
        reason: String,
    },
}

impl Sandbox {
    /// Tries what `plan` asks for. `helper` is the program that confines itself and becomes the command: one whose
    /// `main` begins with the sandbox's own.
    #[must_use]
    pub fn prepare(plan: SandboxPlan, helper: Option<&PathBuf>) -> Self {
        let state = match (plan.enabled, helper) {
            (false, _) => SandboxState::Off,
            (true, None) => {
                SandboxState::Unavailable { reason: "this program has no helper for it".to_owned() }
            }
            (true, Some(helper)) => enforce::enforce(&plan, helper),
        };
        Self { plan, state }
    }

    /// No sandbox.
    #[must_use]
    pub fn off() -> Self {
        Self { plan: SandboxPlan::default(), state: SandboxState::Off }
    }

    /// What permission rules need to know of it; `None` where commands run unconfined, or with less than was asked
    /// for, so that nothing is left to it.
    #[must_use]
    pub fn commands(&self) -> Option<CommandConfinement> {
        match &self.state {
            SandboxState::On { weaknesses, .. } => Some(CommandConfinement {
                unasked: self.plan.unasked && weaknesses.is_empty(),
                excluded: self.plan.excluded.clone(),
            }),
            _ => None,
        }
    }

    /// What confines the commands of Bash in a session with `policy`: all but those that are excluded.
    #[must_use]
    pub fn confinement(&self, policy: &PermissionPolicy) -> Option<Arc<dyn Confine>> {
        match &self.state {
            SandboxState::Off => None,
            SandboxState::On { confine, .. } if self.plan.excluded.is_empty() => Some(Arc::clone(confine)),
            SandboxState::On { confine, .. } => Some(Arc::new(Excluding::new(policy, Arc::clone(confine)))),
            SandboxState::Unavailable { reason } if self.plan.demanded => {
                let reason = format!("the sandbox that the settings demand is not available here: {reason}");
                Some(Arc::new(Refusing { reason }))
            }
            SandboxState::Unavailable { .. } => None,
            SandboxState::Refused { reason } => Some(Arc::new(Refusing { reason: reason.clone() })),
        }
    }

    /// What a person should know before the run; `None` when all is as was asked for.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        match &self.state {
            SandboxState::Off => None,
            SandboxState::On { weaknesses, .. } if weaknesses.is_empty() => None,
            SandboxState::On { weaknesses, .. } => Some(format!(
                "the sandbox is on, but not all of it is enforced: {}; {ADVICE}",
                weaknesses.join("; ")
            )),
            SandboxState::Unavailable { reason } if self.plan.demanded => Some(format!(
                "the sandbox is not available ({reason}), and sandbox.failIfUnavailable demands it, so Bash runs \
                 nothing; {ADVICE}"
            )),
            SandboxState::Unavailable { reason } => {
                Some(format!("the sandbox is not available ({reason}), so commands run without it; {ADVICE}"))
            }
            SandboxState::Refused { reason } => {
                Some(format!("{reason}; Bash runs nothing until then; {ADVICE}"))
            }
        }
    }
}

/// What to do about a sandbox that is not what was asked for.
const ADVICE: &str = "see `robota sandbox status`";

/// Lets nothing run.
#[derive(Debug)]
struct Refusing {
    reason: String,
}

impl Confine for Refusing {
    fn confine(&self, _: CommandLine) -> Result<Confined, ConfineError> {
        Err(ConfineError::new(self.reason.clone()))
    }
}
