//! `robota tool …`: the tools of a session by hand.
//!
//! A call passes through a session that is kept nowhere, whose model does nothing but ask for that call: settings,
//! rules, hooks, sandbox and limits are those of every session, because they are put together in the same place.

mod arguments;
mod list;
mod one_call;
mod run;
mod toolbox;

use crate::exit::{Exit, Failure};
use crate::tool_args::ToolCommand;

/// Runs a tool command.
pub(crate) fn run(command: &ToolCommand) -> Result<Exit, Failure> {
    match command {
        ToolCommand::List(args) => list::run(args),
        ToolCommand::Run(args) => run::run(args),
    }
}
