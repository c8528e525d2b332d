//! The `robota` command line.

mod args;
mod compose;
mod demo;
mod exit;
mod harmless;
mod host;
mod json_schema;
mod manual;
mod model_setup;
mod permissions_args;
mod permissions_command;
mod print;
mod prompt_input;
mod provider_args;
mod provider_command;
mod report;
mod sandbox_args;
mod sandbox_command;
mod session_args;
mod session_command;
mod signals;
mod stdout;
mod tool_args;
mod tool_command;
mod trust_command;
mod tuning_args;
mod unmodelled;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use robota_tools::confine::helper_main;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use crate::stdout::{Output, complain};

fn main() -> ExitCode {
    if let Some(arguments) = host::sandbox_helper_arguments() {
        return as_sandbox_helper(arguments);
    }
    signals::survive_full_files();
    let cli = Cli::parse();
    if cli.run.debug {
        start_diagnostics();
    }
    let exit = match &cli.command {
        Some(Command::Demo(args)) => finish(demo::run(args)),
        Some(Command::Session(command)) => finish(session_command::run(command)),
        Some(Command::Permissions(command)) => finish(permissions_command::run(command)),
        Some(Command::Sandbox(command)) => finish(sandbox_command::run(command)),
        Some(Command::Tool(command)) => finish(tool_command::run(command)),
        Some(Command::Provider(command)) => finish(provider_command::run(command)),
        Some(Command::Trust(args)) => finish(trust_command::run(args)),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "robota", &mut script);
            finish(print_whole(&script))
        }
        Some(Command::Man) => finish(manual::page().and_then(|page| print_whole(&page))),
        None if cli.run.print => print::run(&cli.run),
        None => finish(Err(no_screen())),
    };
    exit.into()
}

/// Becomes a command of the sandbox. Nothing was opened or started before.
fn as_sandbox_helper(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let end = helper_main(arguments);
    if let Some(message) = &end.message {
        complain(message);
    }
    end.code.into()
}

fn finish(outcome: Result<Exit, Failure>) -> Exit {
    outcome.unwrap_or_else(|failure| {
        complain(&failure.render());
        failure.exit
    })
}

fn no_screen() -> Failure {
    Failure::new(Exit::Usage, "nothing to do: this version answers single prompts")
        .with_hint("robota -p \"explain this project\"   answers a prompt\nrobota demo                          shows the whole loop without a key\nrobota --help                        lists everything else")
}

fn print_whole(text: &[u8]) -> Result<Exit, Failure> {
    let mut output = Output::new();
    output.write(&String::from_utf8_lossy(text));
    output.finish().map_err(|error| Failure::output(&error))?;
    Ok(Exit::Success)
}

fn start_diagnostics() {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .finish();
    // Fails only when there is a subscriber already, and this is the first thing the program does.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
