//! `robota permissions …`: a judge for rule files. One file for each command; none of them runs or changes anything.

mod check_url;
mod rows;

use crate::exit::{Exit, Failure};
use crate::permissions_args::PermissionsCommand;

/// Runs a permissions command.
pub(crate) fn run(command: &PermissionsCommand) -> Result<Exit, Failure> {
    match command {
        PermissionsCommand::CheckUrl => check_url::run(),
    }
}
