//! `robota session log`: the events as they stand in the log, or with all they refer to.

use std::cell::RefCell;
use std::io::Read;
use std::thread;
use std::time::Duration;

use robota_core::{Event, EventKind, SessionId};
use robota_session::{LogItem, LogReader, expand};
use tokio::sync::oneshot;

use super::{Events, Shelf, failure, json_of, unreadable, written};
use crate::exit::{Exit, Failure};
use crate::session_args::LogArgs;
use crate::signals::{Asked, Signals};
use crate::stdout::Output;

/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(shelf: &Shelf, args: &LogArgs) -> Result<Exit, Failure> {
    let id = shelf.find(&args.session)?.id;
    if args.follow {
        return follow(shelf, &id, args.expand);
    }
    let output = RefCell::new(Output::new());
    let mut events = shelf.events(&id)?;
    print(&mut events, args.expand, &output)?;
    events.finish(shelf, &id)?;
    written(output.into_inner())
}

/// Prints events one a line, until there are no more or nobody reads them.
fn print(
    events: &mut impl Iterator<Item = Event>,
    expanded: bool,
    output: &RefCell<Output>,
) -> Result<(), Failure> {
    let line = |line: String| {
        let mut output = output.borrow_mut();
        output.line(&line);
        output.is_over()
    };
    if expanded {
        for entry in expand(events) {
            if line(json_of(&entry)?) {
                break;
            }
        }
    } else {
        for event in events {
            if line(json_of(&event)?) {
                break;
            }
        }
    }
    Ok(())
}

/// Prints what is there, and then what comes, until the session is closed or a signal arrives.
fn follow(shelf: &Shelf, id: &SessionId, expanded: bool) -> Result<Exit, Failure> {
    shelf.log(id)?;
    let reader = shelf.store.follow_log(id).map_err(|error| failure(&error))?;
    let path = shelf.store.log_path(id);
    let (send, done) = oneshot::channel();
    // A reader of the output may hold it up; signals are heard all the same.
    thread::spawn(move || {
        let output = RefCell::new(Output::new());
        let items = Following { reader, output: &output, is_there: || path.exists(), closed: false };
        let mut events = Events { items, failure: None };
        let printed = print(&mut events, expanded, &output);
        let failed = events.failure.take();
        drop(events);
        let _ = send.send((printed, failed, output.into_inner().finish()));
    });
    let outcome = shelf.runtime.block_on(async {
        let mut signals = Signals::listen()
            .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be listened to: {error}")))?;
        tokio::select! {
            biased;
            asked = signals.next() => Ok(Err(asked)),
            outcome = done => Ok(Ok(outcome)),
        }
    })?;
    match outcome {
        Err(Asked::Interrupt) => Ok(Exit::Interrupted),
        Err(Asked::Terminate) => Ok(Exit::Terminated),
        Ok(Err(_)) => Err(Failure::new(Exit::Failed, "following the log was given up")),
        Ok(Ok((printed, failed, finished))) => {
            printed?;
            if let Some(error) = failed {
                return Err(unreadable(shelf, id, &error));
            }
            finished.map_err(|error| Failure::output(&error))?;
            Ok(Exit::Success)
        }
    }
}

/// The pieces of a log that grows. Ends when the session is closed and nothing follows, when the log is
/// gone, and when nobody reads what is printed.
struct Following<'a, R, F> {
    reader: LogReader<R>,
    output: &'a RefCell<Output>,
    is_there: F,
    /// The last event closed the session.
    closed: bool,
}

impl<R: Read, F: Fn() -> bool> Iterator for Following<'_, R, F> {
    type Item = std::io::Result<LogItem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.reader.next() {
                if let Ok(LogItem::Event(event)) = &item {
                    self.closed = matches!(event.kind, EventKind::SessionShutdown { .. });
                }
                return Some(item);
            }
            let mut output = self.output.borrow_mut();
            output.flush();
            if self.closed || output.is_over() || !(self.is_there)() {
                return None;
            }
            drop(output);
            thread::sleep(LOOK_EVERY);
        }
    }
}
