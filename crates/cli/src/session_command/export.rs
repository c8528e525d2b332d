//! `robota session export`.

use std::io::{self, ErrorKind};
use std::path::Path;

use robota_core::SessionId;
use robota_session::archive::{ExportOptions, ExportReport, export};
use serde::Serialize;

use super::{Shelf, count, failure, note, print, size, written};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::session_args::ExportArgs;
use crate::stdout::Output;

/// The report as JSON has it.
#[derive(Serialize)]
struct Told<'a> {
    file: String,
    #[serde(flatten)]
    report: &'a ExportReport,
}

pub(super) fn run(shelf: &Shelf, args: &ExportArgs) -> Result<Exit, Failure> {
    let id = shelf.find(&args.session)?.id;
    let options = if args.no_log { ExportOptions::without_log() } else { ExportOptions::default() };
    let Some(path) = &args.output else { return to_stdout(shelf, &id, &options) };
    let report = to_file(shelf, &id, &options, path, args.force)?;
    tell_left_out(&report);
    let told = Told { file: path.display().to_string(), report: &report };
    print(&told, args.json, |output| {
        let messages = count(report.messages, "message", "messages");
        let events =
            report.events.map(|events| format!(", {}", count(events, "event", "events"))).unwrap_or_default();
        let (path, bytes) = (one_line(&told.file), size(report.bytes));
        output.line(&format!("session {id} is in {path}: {messages}{events}, {bytes}"));
    })
}

fn to_stdout(shelf: &Shelf, id: &SessionId, options: &ExportOptions) -> Result<Exit, Failure> {
    let mut output = Output::new();
    let exported = shelf.runtime.block_on(export(&shelf.store, id, options, &mut output));
    if output.is_over() {
        // What could not be written is no fault of the session.
        return written(output);
    }
    let exit = written(output);
    tell_left_out(&exported.map_err(|error| failure(&error))?);
    exit
}

/// Writes the file whole, private to the user, or not at all.
fn to_file(
    shelf: &Shelf,
    id: &SessionId,
    options: &ExportOptions,
    path: &Path,
    force: bool,
) -> Result<ExportReport, Failure> {
    let failed = |error: &io::Error| cannot_write(path, error);
    if !force && path.symlink_metadata().is_ok() {
        return Err(failed(&ErrorKind::AlreadyExists.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".writing-").tempfile_in(folder).map_err(|error| failed(&error))?;
    let report = shelf.wait(export(&shelf.store, id, options, file.as_file_mut()))?;
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map_err(|error| failed(&error.error))?;
    Ok(report)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(Exit::Usage, format!("{path} exists already"))
            .with_hint("Give another file, or --force to replace this one."),
        _ => Failure::new(Exit::Storage, format!("{path} cannot be written: {error}")),
    }
}

fn tell_left_out(report: &ExportReport) {
    if let Some(first) = report.left_out_pieces.first() {
        let pieces = count(report.left_out, "piece of the log is", "pieces of the log are");
        note(&format!("{pieces} left out, the first: {first}"));
    }
}
