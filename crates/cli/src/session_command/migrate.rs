//! `robota session migrate`.

use robota_session::archive::migrate;

use super::{Shelf, count, note, print};
use crate::exit::{Exit, Failure};

pub(super) fn run(shelf: &Shelf, dry_run: bool, json: bool) -> Result<Exit, Failure> {
    let report = shelf.wait(migrate(&shelf.store, dry_run))?;
    let exit = print(&report, json, |output| {
        for id in &report.migrated {
            output.line(&format!("{} {id}", if dry_run { "would migrate" } else { "migrated" }));
        }
        let migrated = count(report.migrated.len(), "record", "records");
        let verb = if dry_run { "would get a timeline" } else { "got a timeline" };
        output.line(&format!("{migrated} {verb}, {} had one", report.skipped.len()));
    })?;
    for failed in &report.failed {
        note(&format!("{}: {}", failed.path.display(), failed.reason));
    }
    match report.failed.len() {
        0 => Ok(exit),
        some => {
            let records = count(some, "record stays as it is", "records stay as they are");
            Err(Failure::new(Exit::Storage, records)
                .with_hint("The notes say why; it may be tried again at any time."))
        }
    }
}
