//! The one place that starts programs.
//!
//! A program gets a session and process group of its own, no standard input, and one pipe for
//! standard output and standard error, so that their order is kept. It is ended with everything it has
//! started in turn, also with what has left its group (`family`): TERM, two seconds of grace, KILL. That
//! happens when its time is up, when the caller cancels, and when the caller drops the call. What a command
//! that ends by itself leaves running, such as a server, lives on. Hooks are told something on standard input,
//! keep their outputs apart, and leave nothing of their group behind.
//!
//! Output costs bounded memory (`capture`), is shown at a bounded rate (`live`), and goes to a file while it
//! comes when it is too long to be shown (`spilling`).

mod capture;
mod confine;
mod environment;
mod exchange;
mod family;
mod final_folder;
mod group;
mod live;
mod mark;
mod orphans;
mod output;
mod proc_table;
mod shell;
mod signal;
mod spilling;
mod supervise;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_core::OutputSpill;
use tokio_util::sync::CancellationToken;

pub use confine::{Confine, ConfineError, Confined, Verdict};
pub use environment::child_environment;
pub(crate) use environment::without_interaction;
pub use exchange::{Exchanged, Printed, exchange};
pub(crate) use exchange::{KEPT, Sink, observe};
pub(crate) use final_folder::{FinalFolder, telling, told};
pub(crate) use live::Live;
pub use orphans::adopt_orphans;
pub use shell::find_shell;
pub use signal::signal_name;
pub use spilling::Spilled;
use spilling::Spilling;

/// A program to run.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a plain record that callers write out")]
pub struct CommandLine {
    /// The program, absolute or found on the `PATH` of this process.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it runs in.
    pub directory: PathBuf,
    /// Its whole environment; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may run.
    pub timeout: Duration,
}

/// A program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote, of at most about 30,000 bytes: the beginning and the end, with a line in the
    /// middle that tells how much is missing and where it is. Harmless, as [`robota_core::harmless_text`]
    /// makes it; output that is no text is a line that says so.
    pub output: String,
    /// Bytes missing from `output`.
    pub omitted_bytes: u64,
    /// Bytes it wrote.
    pub output_bytes: u64,
    /// Where all of it is, when `output` does not show it.
    pub spilled: Option<Spilled>,
    /// Where it was when it had to be ended.
    pub last_directory: Option<PathBuf>,
    /// A program it left behind still holds the output open.
    pub left_behind: bool,
    /// How long it ran.
    pub duration: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// The caller cancelled.
    Cancelled,
}

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It did not start.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be confined, and was not started.
    #[error("cannot confine the command: {0}")]
    Confine(#[from] ConfineError),
    /// It started, but how it ended could not be learned.
    #[error("lost track of a running program: {0}")]
    Lost(#[source] io::Error),
}

/// Runs `command` to its end, confined where `confinement` says how. `on_output` sees the output as it appears,
/// at most ten times a second; of what comes too fast, the end.
///
/// Returns at the latest about three seconds after the timeout or the cancellation. When this
/// future is dropped, the program is ended in the background.
///
/// # Errors
///
/// When the program cannot be confined, started or waited for.
///
/// # Panics
///
/// Outside a tokio runtime with time and I/O enabled.
pub async fn run(
    command: CommandLine,
    confinement: Option<&dyn Confine>,
    cancel: &CancellationToken,
    on_output: impl FnMut(&str) + Send + 'static,
) -> Result<Finished, RunError> {
    run_and_keep(command, confinement, None, cancel, on_output).await
}

/// As [`run`]; output that is too long to be shown is kept in `spill` as that of the call with this id.
///
/// # Errors
///
/// As those of [`run`]. Output that cannot be kept is none; `output` then says why.
pub async fn run_and_keep(
    command: CommandLine,
    confinement: Option<&dyn Confine>,
    spill: Option<(Arc<dyn OutputSpill>, Arc<str>)>,
    cancel: &CancellationToken,
    on_output: impl FnMut(&str) + Send + 'static,
) -> Result<Finished, RunError> {
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let allowed = command.timeout;
    let confined = Confined::by(confinement, command)?;
    let supervisor = supervise::start(confined, Spilling::new(spill), on_output)?;
    let supervised = tokio::spawn(supervisor.supervise(allowed, stop));
    supervised.await.unwrap_or_else(|error| Err(RunError::Lost(io::Error::other(error))))
}
