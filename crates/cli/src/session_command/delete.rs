//! `robota session delete`.

use std::io::{self, BufRead, IsTerminal, Write};

use robota_session::{Deleted, SessionHead};
use serde::Serialize;

use super::{Shelf, count, failure, print, size};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::{DeleteArgs, Query};
use crate::stdout::complain;

/// The report as JSON has it.
#[derive(Serialize)]
struct Told {
    deleted: Vec<Deleted>,
}

/// Removes all of them or, when one of them cannot be found, none.
pub(super) fn run(shelf: &Shelf, args: &DeleteArgs) -> Result<Exit, Failure> {
    let mut heads: Vec<SessionHead> = Vec::new();
    for query in &args.sessions {
        let head = shelf.find(&Query { query: query.clone() })?;
        if heads.iter().all(|known| known.id != head.id) {
            heads.push(head);
        }
    }
    if !args.yes && !confirmed(&heads)? {
        complain("nothing was deleted");
        return Ok(Exit::Success);
    }
    let (mut told, mut failures) = (Told { deleted: Vec::new() }, Vec::new());
    for head in &heads {
        match shelf.runtime.block_on(shelf.store.remove(&head.id)) {
            Ok(deleted) => told.deleted.push(deleted),
            Err(error) => failures.push(failure(&error)),
        }
    }
    let exit = print(&told, args.json, |output| {
        for deleted in &told.deleted {
            let (files, bytes) = (count(deleted.files.len(), "file", "files"), size(deleted.bytes()));
            output.line(&format!("deleted session {}: {files}, {bytes}", deleted.session_id));
        }
    })?;
    let Some(last) = failures.pop() else { return Ok(exit) };
    failures.iter().for_each(|failure| complain(&failure.render()));
    Err(last)
}

/// Asks the person at the terminal.
fn confirmed(heads: &[SessionHead]) -> Result<bool, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::new(Exit::Usage, "nobody can be asked whether to delete")
            .with_hint("--yes deletes without asking."));
    }
    for head in heads {
        let title = head.name.as_deref().or(head.preview.as_deref()).unwrap_or_default();
        complain(&format!("{}  {}", head.id, one_line(title)));
    }
    let mut stderr = io::stderr();
    let asked = write!(stderr, "Delete {} for good? [y/N] ", count(heads.len(), "session", "sessions"));
    let mut answer = String::new();
    asked
        .and_then(|()| stderr.flush())
        .and_then(|()| stdin.lock().read_line(&mut answer))
        .map_err(|error| Failure::new(Exit::Usage, format!("the answer cannot be read: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}
