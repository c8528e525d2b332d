//! `robota sandbox …`: what the sandbox is on this system, and a command in it.

mod run;
mod status;

use crate::exit::{Exit, Failure};
use crate::sandbox_args::SandboxCommand;

/// Runs a sandbox command.
pub(crate) fn run(command: &SandboxCommand) -> Result<Exit, Failure> {
    match command {
        SandboxCommand::Status(args) => status::run(args),
        SandboxCommand::Run(args) => run::run(args),
    }
}
