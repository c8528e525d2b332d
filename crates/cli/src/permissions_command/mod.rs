//! `robota permissions …`: what the rules in force are, what they make of a call, and a judge for rule files.
//! One file for each command; none of them runs or changes anything.

mod call;
mod check;
mod check_url;
mod effective;
mod explain;
mod list;
mod rows;

pub(crate) use effective::Effective;
use robota_core::Decision;

use crate::exit::{Exit, Failure};
use crate::permissions_args::PermissionsCommand;

/// Runs a permissions command.
pub(crate) fn run(command: &PermissionsCommand) -> Result<Exit, Failure> {
    match command {
        PermissionsCommand::Check => check::run(),
        PermissionsCommand::CheckUrl => check_url::run(),
        PermissionsCommand::Explain(args) => explain::run(args),
        PermissionsCommand::List(args) => list::run(args),
    }
}

/// A decision as programs read it.
const fn name_of(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}
