//! `robota session list`.

use robota_session::{SessionHead, SessionStore};

use super::{Shelf, json_of, note, written};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::stdout::{Output, complain};

pub(super) fn run(shelf: &Shelf, json: bool) -> Result<Exit, Failure> {
    let listing = shelf.wait(shelf.store.list())?;
    let mut output = Output::new();
    for head in &listing.sessions {
        output.line(&if json { json_of(head)? } else { row(head) });
    }
    for skipped in &listing.skipped {
        note(&format!("{}: {}", skipped.path.display(), skipped.reason));
    }
    if listing.sessions.is_empty() && !json {
        complain("no sessions in this project yet");
    }
    written(output)
}

fn row(head: &SessionHead) -> String {
    let title = head.name.as_deref().or(head.preview.as_deref()).unwrap_or_default();
    let day = head.updated_at.to_string().replace('T', " ");
    let minute = day.get(..16).unwrap_or(&day);
    format!("{}  {minute}  {}", head.id, one_line(title))
}
