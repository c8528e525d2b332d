//! `robota session rename`.

use robota_core::Ambient;
use robota_session::archive::rename;

use super::{Shelf, print};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::RenameArgs;

pub(super) fn run(shelf: &Shelf, args: &RenameArgs) -> Result<Exit, Failure> {
    let name = args.name.as_deref();
    if name.is_some_and(|name| name.trim().is_empty()) {
        return Err(
            Failure::new(Exit::Usage, "a blank name is none").with_hint("--none takes the name away.")
        );
    }
    let id = shelf.find(&args.session)?.id;
    let filter = Some(shelf.line_filter()?);
    let report = shelf.wait(rename(&shelf.store, &id, name, &Ambient::default(), filter))?;
    print(&report, args.json, |output| {
        let shown = |name: &Option<String>| name.as_deref().map(|name| format!("`{}`", one_line(name)));
        let line = match (shown(&report.before), shown(&report.after), report.changed) {
            (_, Some(after), false) => format!("session {id} was called {after} already"),
            (_, None, false) => format!("session {id} had no name"),
            (Some(before), Some(after), true) => format!("session {id} is called {after} (was {before})"),
            (None, Some(after), true) => format!("session {id} is called {after}"),
            (before, None, true) => {
                format!("session {id} has no name any more (was {})", before.unwrap_or_default())
            }
        };
        output.line(&line);
    })
}
