//! The manual page, from the table of the command line.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;
use crate::exit::{Exit, Failure};

/// The page in roff format. It is the only one, so it also tells of the commands below others.
pub(crate) fn page() -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::new(Exit::Failed, format!("the manual cannot be written: {error}")))?;
    let mut root = Cli::command();
    root.build();
    for command in root.get_subcommands().filter(|command| command.has_subcommands()) {
        let name = command.get_name();
        let mut section = format!(".SH \"{} COMMANDS\"\n", name.to_uppercase());
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            section.push_str(&entry(name, below));
        }
        page.extend_from_slice(section.as_bytes());
    }
    Ok(page)
}

fn entry(above: &str, command: &Command) -> String {
    let mut usage = format!("robota {above} {}", command.get_name());
    let own = command.get_arguments().filter(|argument| argument.get_id() != "help");
    // What stands behind `--` is no place for options.
    let (behind, before): (Vec<&Arg>, Vec<&Arg>) = own.partition(|argument| argument.is_last_set());
    for argument in before {
        let (open, close) = if argument.is_required_set() { ("", "") } else { ("[", "]") };
        let _ = write!(usage, " {open}{}{close}", shape(argument));
    }
    for argument in behind {
        let _ = write!(usage, " -- {}", shape(argument));
    }
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!(".TP\n\\fB{}\\fR\n{}\n", roff(&usage), roff(&about))
}

/// `SESSION`, `--json` or `--at TURN`.
fn shape(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let value = values.first().map(ToString::to_string).filter(|_| argument.get_action().takes_values());
    match (argument.get_long(), value) {
        (Some(long), Some(value)) => format!("--{long} {value}"),
        (Some(long), None) => format!("--{long}"),
        (None, value) => value.unwrap_or_default(),
    }
}

/// Text of a line, in which roff finds nothing to do.
fn roff(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-").replace('\'', "\\(aq")
}
