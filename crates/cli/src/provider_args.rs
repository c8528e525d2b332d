//! The command line of `robota provider`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// How `test` ends, for programs.
const EXIT_CODES: &str = "\
Exit codes:
  0  the provider answered, streamed, and takes tools
  1  the service cannot be reached, failed, or does not do what robota needs
  3  key, address, model or settings are wrong";

/// `robota provider …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List the providers that settings and environment set up, which one is used and why, and what is missing
    List(ProviderListArgs),
    /// Call the model once and say what works, how fast, and what is wrong
    #[command(after_help = EXIT_CODES)]
    Test(ProviderTestArgs),
    /// List the models that the provider offers, with what is known of their windows and prices
    Models(ProviderModelsArgs),
}

/// Where the settings are taken from.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// As in this folder instead of the working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// As if this folder were trusted
    #[arg(long)]
    pub(crate) trust: bool,
    /// JSON instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota provider list`.
#[derive(Debug, Args)]
pub(crate) struct ProviderListArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

/// `robota provider test`.
#[derive(Debug, Args)]
pub(crate) struct ProviderTestArgs {
    /// A profile or a type [default: the one a run would use]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Call this model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

/// `robota provider models`.
#[derive(Debug, Args)]
pub(crate) struct ProviderModelsArgs {
    /// A profile or a type [default: the one a run would use]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Ask the service even when its list is at hand
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}
