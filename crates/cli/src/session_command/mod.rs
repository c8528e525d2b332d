//! `robota session …`: look at recorded sessions, check, copy, move and remove them. One file for each command.

mod delete;
mod export;
mod fork;
mod gc;
mod import;
mod list;
mod log;
mod migrate;
mod rename;
mod replay;
mod show;
mod validate;

use std::fs::File;

use robota_core::{Event, SessionId};
use robota_framework::{ProjectPaths, Settings, log_filter};
use robota_session::{
    Error, ErrorKind, FileStore, LineFilter, LogItem, LogReader, SessionHead, SessionStore,
};
use tokio::runtime::Runtime;

use crate::compose::{SETTINGS_HINT, session_failure};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::host::Host;
use crate::print::runtime;
use crate::report::{json_of, print, written};
use crate::session_args::{Query, SessionCommand};
use crate::stdout::complain;

/// Runs a session command.
pub(crate) fn run(command: &SessionCommand) -> Result<Exit, Failure> {
    let shelf = Shelf::of_project()?;
    match command {
        SessionCommand::List { json } => list::run(&shelf, *json),
        SessionCommand::Show { session, json } => show::run(&shelf, session, *json),
        SessionCommand::Log(args) => log::run(&shelf, args),
        SessionCommand::Validate { session, json } => validate::run(&shelf, session, *json),
        SessionCommand::Replay { session, json } => replay::run(&shelf, session, *json),
        SessionCommand::Export(args) => export::run(&shelf, args),
        SessionCommand::Import(args) => import::run(&shelf, args),
        SessionCommand::Fork(args) => fork::run(&shelf, args),
        SessionCommand::Rename(args) => rename::run(&shelf, args),
        SessionCommand::Delete(args) => delete::run(&shelf, args),
        SessionCommand::Migrate { dry_run, json } => migrate::run(&shelf, *dry_run, *json),
        SessionCommand::Gc(args) => gc::run(&shelf, args),
    }
}

/// Where the sessions of a project are, and what it takes to use them.
struct Shelf {
    host: Host,
    paths: ProjectPaths,
    store: FileStore,
    runtime: Runtime,
}

impl Shelf {
    fn of_project() -> Result<Self, Failure> {
        let host = Host::of_process()?;
        let paths = host.paths()?;
        let store = FileStore::new(&paths.state_dir);
        Ok(Self { host, paths, store, runtime: runtime()? })
    }

    /// The session that was asked for.
    fn find(&self, Query { query }: &Query) -> Result<SessionHead, Failure> {
        self.wait(<dyn SessionStore>::find(&self.store, query))
    }

    /// Waits for a call into the store.
    fn wait<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(|error| failure(&error))
    }

    /// The log of the session `id`.
    fn log(&self, id: &SessionId) -> Result<LogReader<File>, Failure> {
        if !self.has_log(id)? {
            let told = format!("session {id} has no log, only a snapshot");
            return Err(Failure::new(Exit::Storage, told)
                .with_hint(format!("`robota session export {id}` prints what the snapshot holds.")));
        }
        self.store.read_log(id).map_err(|error| failure(&error))
    }

    fn has_log(&self, id: &SessionId) -> Result<bool, Failure> {
        Ok(self.wait(SessionStore::read_log(&self.store, id))?.is_some())
    }

    /// The events of the log of the session `id`; what cannot be read is remarked upon.
    fn events(&self, id: &SessionId) -> Result<Events<LogReader<File>>, Failure> {
        Ok(Events { items: self.log(id)?, failure: None })
    }

    /// What takes secrets out of what is written.
    fn line_filter(&self) -> Result<LineFilter, Failure> {
        // Nothing of the project's settings is put to use, so no trust is needed.
        let settings = Settings::load(&self.paths, false)
            .map_err(|error| Failure::from_error(Exit::Configuration, &error).with_hint(SETTINGS_HINT))?;
        Ok(log_filter(&settings, &self.host.environment))
    }
}

/// The events among the pieces of a log.
struct Events<I> {
    items: I,
    /// Why the log could not be read to its end.
    failure: Option<std::io::Error>,
}

impl<I: Iterator<Item = std::io::Result<LogItem>>> Iterator for Events<I> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            match self.items.next()? {
                Ok(LogItem::Event(event)) => return Some(*event),
                Ok(LogItem::Defect(defect)) => note(&defect.to_string()),
                Ok(_) => {}
                Err(error) => {
                    self.failure = Some(error);
                    return None;
                }
            }
        }
    }
}

impl<I> Events<I> {
    /// Whether all could be read of the log of the session `id`.
    fn finish(self, shelf: &Shelf, id: &SessionId) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), |error| Err(unreadable(shelf, id, &error)))
    }
}

fn unreadable(shelf: &Shelf, id: &SessionId, error: &std::io::Error) -> Failure {
    let path = shelf.store.log_path(id);
    Failure::new(Exit::Storage, format!("{} cannot be read: {error}", path.display()))
}

/// A failure of the store as a person reads it.
fn failure(error: &Error) -> Failure {
    let with = |exit, hint: Option<&str>| {
        let failure = Failure::from_error(exit, error);
        match hint.or(error.hint()) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    };
    match error.kind() {
        ErrorKind::InvalidId | ErrorKind::InvalidInput | ErrorKind::InvalidName | ErrorKind::InvalidTurn => {
            with(Exit::Usage, None)
        }
        ErrorKind::Storage | ErrorKind::InvalidArtifact => with(Exit::Storage, None),
        ErrorKind::NotFound => with(Exit::Configuration, Some("`robota session list` shows ids and names.")),
        ErrorKind::Locked => {
            with(Exit::Configuration, Some("Close the other program, or wait until it is done."))
        }
        _ => session_failure(error),
    }
}

/// Remarks upon something that is no failure.
fn note(text: &str) {
    complain(&format!("note: {}", one_line(text)));
}

/// A number of things, in words.
fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// A size as a person reads it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS.get(unit).unwrap_or(&"TB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1000, 12_345, 999_949, 999_999, 5_000_000_000, u64::MAX].map(size);
        let expected = ["0 B", "999 B", "1.0 kB", "12.3 kB", "999.9 kB", "1.0 MB", "5.0 GB", "18446744.1 TB"];
        assert_eq!(sizes, expected);
    }
}
