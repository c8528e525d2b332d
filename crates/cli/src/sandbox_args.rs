//! The command line of `robota sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::permissions_args::PolicyArgs;

/// How a command ends, for programs.
const EXIT_CODES: &str = "\
Exit codes:
  that of the command; 128 and more when a signal ended it
  125  the command could not be confined, and did not run
  others as of robota itself";

/// `robota sandbox …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Show what the settings ask for, what of it this system enforces, and what to do about the rest
    Status(SandboxStatusArgs),
    /// Run a command confined as Bash would run it with the present settings, whether or not they switch it on
    #[command(after_help = EXIT_CODES)]
    Run(SandboxRunArgs),
}

/// `robota sandbox status`.
#[derive(Debug, Args)]
pub(crate) struct SandboxStatusArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota sandbox run`.
#[derive(Debug, Args)]
pub(crate) struct SandboxRunArgs {
    /// The command, behind `--`; it reads nothing from standard input
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
    /// What of the network it reaches, instead of what the settings say
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) network: Option<NetworkArg>,
    /// A host it may reach, besides those of the settings; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_domain: Vec<String>,
    /// A folder it may change, besides those of the settings; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_write: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

/// What of the network a command reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkArg {
    /// Nothing.
    Off,
    /// Everything.
    Open,
}
