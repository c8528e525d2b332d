//! Commands that run confined, such as in a sandbox of the operating system.

use std::path::Path;

use super::call::{Call, Target};
use super::{PermissionPolicy, Rule, command};
use crate::{Access, ToolClass, ToolSpec};

/// The one tool whose commands are confined.
const BASH: &str = "Bash";

/// What of the commands of Bash runs confined, and what that is worth. Only for hosts that enforce all of what their
/// user has asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct CommandConfinement {
    /// Whether a confined command runs without asking where only the mode would ask.
    pub unasked: bool,
    /// Commands that run outside. A line runs outside when every simple command in it is covered, by the same
    /// reading as for allow rules; then it is judged as without confinement.
    pub excluded: Vec<Rule>,
}

impl PermissionPolicy {
    /// Whether Bash runs the line `command`, given the folder `cwd`, outside of its confinement: all of it is
    /// excluded. Without confinement nothing is outside.
    #[must_use]
    pub fn is_excluded(&self, command: &str, cwd: &Path) -> bool {
        let spec = ToolSpec::new(BASH, ToolClass::Execute, "");
        let access = [Access::Command { command: command.to_owned(), cwd: cwd.to_owned() }];
        let call = Call::new(self, &spec, &access);
        call.targets.iter().all(|target| self.excludes(&call, target))
    }

    /// Whether `target` is a command that runs confined, and therefore without asking.
    pub(super) fn is_unasked(&self, call: &Call<'_>, target: &Target<'_>) -> bool {
        let unasked = self.confinement.as_ref().is_some_and(|confinement| confinement.unasked);
        let is_command = call.spec.name == BASH && matches!(target, Target::Command(_));
        unasked && is_command && !self.excludes(call, target)
    }

    fn excludes(&self, call: &Call<'_>, target: &Target<'_>) -> bool {
        match (&self.confinement, target) {
            (Some(confinement), Target::Command(line)) if !confinement.excluded.is_empty() => {
                command::cover(&confinement.excluded, call, line).is_ok()
            }
            _ => false,
        }
    }
}
