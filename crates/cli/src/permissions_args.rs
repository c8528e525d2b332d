//! The command line of `robota permissions`.

use clap::Subcommand;

/// `robota permissions …`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Judge the web addresses that standard input describes, one JSON object a line; nothing is fetched or looked up
    CheckUrl,
}
