//! The command line of `robota session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use robota_core::SessionId;

/// `robota session …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sessions of this project, latest first
    List {
        /// One JSON object a line instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print what happened in a session, from its log
    Show {
        #[command(flatten)]
        session: Query,
        /// The events as they stand in the log, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the log of a session, one JSON object a line, with large fields in their places
    Log(LogArgs),
    /// Check that the log of a session is whole and in order: all that a replay needs is there
    Validate {
        #[command(flatten)]
        session: Query,
        /// One JSON object instead of lines for people
        #[arg(long)]
        json: bool,
    },
    /// Run a session again with the model's answers and the tools' results from its log, and check every request
    Replay {
        #[command(flatten)]
        session: Query,
        /// One JSON object instead of lines for people
        #[arg(long)]
        json: bool,
    },
    /// Write a session as one JSON document that `import` reads
    Export(ExportArgs),
    /// Make a session of a document that `export` wrote
    Import(ImportArgs),
    /// Make a copy of a session, which stays as it is
    Fork(ForkArgs),
    /// Give a session another name
    Rename(RenameArgs),
    /// Remove sessions with all their files
    Delete(DeleteArgs),
    /// Give records of the first robota the timeline that later ones have; may be run again at any time
    Migrate {
        /// Say what would be done, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// One JSON object instead of lines for people
        #[arg(long)]
        json: bool,
    },
    /// Show what is left over in the session folders, and with --apply remove it
    Gc(GcArgs),
}

/// The session that a command is about.
#[derive(Debug, Args)]
pub(crate) struct Query {
    /// Id, beginning of an id, or name
    #[arg(value_name = "SESSION")]
    pub(crate) query: String,
}

/// `robota session log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) session: Query,
    /// Full entries, with the messages, histories and tools that the lines of the log refer to
    #[arg(long)]
    pub(crate) expand: bool,
    /// Go on printing what is logged until the session is closed, or Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// What is printed without it, too: a log has no other form
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) session: Query,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file when it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Messages and timeline only, without the events of the log
    #[arg(long)]
    pub(crate) no_log: bool,
    /// With -o: report as JSON; on standard output stands the document, which is JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The document; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Import it under this id instead of its own
    #[arg(long, value_name = "ID", conflicts_with = "fresh")]
    pub(crate) id: Option<SessionId>,
    /// Import it under a new id
    #[arg(long)]
    pub(crate) fresh: bool,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) session: Query,
    /// Begin right after this turn instead of at the end; 0 is before the first
    #[arg(long, value_name = "TURN")]
    pub(crate) at: Option<u32>,
    /// Name of the copy
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    #[command(flatten)]
    pub(crate) session: Query,
    /// The new name
    #[arg(required_unless_present = "none")]
    pub(crate) name: Option<String>,
    /// Take the name away
    #[arg(long, conflicts_with = "name")]
    pub(crate) none: bool,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session delete`.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Ids, beginnings of ids, or names
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota session gc`.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Also sessions in which nothing has happened for so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) older_than: Option<u32>,
    /// Remove what is shown
    #[arg(long)]
    pub(crate) apply: bool,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}
