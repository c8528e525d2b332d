//! `robota session import`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use robota_session::ErrorKind;
use robota_session::archive::{ImportId, ImportOptions, ImportReport, import_from};

use super::{Shelf, count, failure, note, print};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::ImportArgs;

pub(super) fn run(shelf: &Shelf, args: &ImportArgs) -> Result<Exit, Failure> {
    let mut options = ImportOptions::default();
    options.id = match &args.id {
        Some(id) => ImportId::As(id.clone()),
        None if args.fresh => ImportId::Fresh,
        None => ImportId::Own,
    };
    options.line_filter = Some(shelf.line_filter()?);
    let from = open(&args.file)?;
    let imported = shelf.runtime.block_on(import_from(&shelf.store, from, &options));
    let report = imported.map_err(|error| match error.kind() {
        ErrorKind::Exists => failure(&error)
            .with_hint("Import it with --fresh or --id ID, or delete the session that is there."),
        _ => failure(&error),
    })?;
    remark(&report);
    print(&report, args.json, |output| {
        let (id, messages) = (&report.session_id, count(report.messages, "message", "messages"));
        let name = report.name.as_deref().map(|name| format!(" ({})", one_line(name))).unwrap_or_default();
        let turns = match report.turns {
            0 => String::new(),
            turns => format!(", {}", count(turns as usize, "turn", "turns")),
        };
        output.line(&format!("imported as session {id}{name}: {messages}{turns}"));
        output.line(&format!("go on with it: robota -r {id}"));
    })
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| {
        Failure::new(Exit::Storage, format!("{} cannot be read: {error}", path.display()))
            .with_hint("Give a file that `robota session export` wrote, or - for standard input.")
    })?;
    Ok(Box::new(file))
}

fn remark(report: &ImportReport) {
    if report.restated && report.events.is_some() {
        note("the log in the document tells another history than its record; the record's was taken");
    }
    if !report.unused.is_empty() {
        let first = report.unused.first().map(String::as_str).unwrap_or_default();
        note(&format!(
            "{} say nothing usable, the first: {first}",
            count(report.unused.len(), "event", "events")
        ));
    }
    if !report.ignored_fields.is_empty() {
        note(&format!(
            "not imported, because this version does not know it: {}",
            report.ignored_fields.join(", ")
        ));
    }
}
