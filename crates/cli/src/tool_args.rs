//! The command line of `robota tool`.

use clap::{Args, Subcommand};

use crate::permissions_args::PolicyArgs;

/// How a call ends, for programs.
const EXIT_CODES: &str = "\
Exit codes:
    0  the tool did what was asked
    1  the tool failed, and says why
    2  there is no such tool, or it does not take the arguments
    5  not allowed, by rules, mode or a hook
  others as of robota itself";

/// `robota tool …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// Show the tools that a session would have: name, class, what it does, parameters
    List(ToolListArgs),
    /// Run one tool under the settings, permissions and hooks of a session; needs no model and no key
    #[command(after_help = EXIT_CODES)]
    Run(ToolRunArgs),
}

/// `robota tool list`.
#[derive(Debug, Args)]
pub(crate) struct ToolListArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota tool run`.
#[derive(Debug, Args)]
pub(crate) struct ToolRunArgs {
    /// The tool, such as Read
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The arguments as a model writes them, such as '{"filePath":"notes.txt"}'; @FILE reads them from a file, - from
    /// standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// The whole outcome as one JSON object instead of its text
    #[arg(long)]
    pub(crate) json: bool,
}
