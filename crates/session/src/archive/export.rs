//! A stored session as one JSON document.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use robota_core::{Event, EventKind, SessionId};
use serde::{Deserialize, Serialize};

use super::artifact::SCHEMA_VERSION;
use super::record::record;
use crate::log::{Lines, Place, Seen, Sequence, expand};
use crate::printable::printable;
use crate::{Error, LogFold, LogSource, PayloadSource, SessionStore, StoredSession};

/// How many of the pieces that are left out are named one by one.
const NAMED: usize = 20;
/// Kinds of events that a session is made from: one that cannot be read is damage.
const OF_STATE: [&str; 5] =
    ["session_init", "session_resume", "session_name", "tool_execution_request", "history_mutation"];

/// What goes into an artifact.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExportOptions {
    /// The events of the log. Without them the artifact is one that the original reads and writes.
    pub log: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { log: true }
    }
}

impl ExportOptions {
    /// The record alone.
    #[must_use]
    pub fn without_log() -> Self {
        Self { log: false }
    }
}

/// What an export came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportReport {
    /// The session.
    pub session_id: SessionId,
    /// Version of the artifact's format.
    pub schema_version: u64,
    /// Messages in the record, the system prompt not counted.
    pub messages: usize,
    /// Entries of the timeline in the record.
    pub entries: usize,
    /// Events of the log; `None` when the log was not asked for or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<usize>,
    /// Size of the artifact, in bytes.
    pub bytes: u64,
    /// How many pieces of the log are left out: lines that are no intact events of this session, and large
    /// fields that are lost, in whose places the events have a text that says so.
    pub left_out: usize,
    /// The first of them, for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out_pieces: Vec<String>,
}

/// Writes the session `id` to `to` as an artifact, whoever has it open.
///
/// Needs memory for the record and one event at a time; reads the log and writes in the calling task.
/// What was acknowledged before the call is in it, and the events are those that made the record.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound); [`Storage`](crate::ErrorKind::Storage) when the session cannot
/// be read, or `to` cannot be written: what it holds then is no artifact.
pub async fn export(
    store: &dyn SessionStore,
    id: &SessionId,
    options: &ExportOptions,
    to: impl Write,
) -> Result<ExportReport, Error> {
    let stored = store.load(id).await?;
    let log = if options.log { store.read_log(id).await? } else { None };
    write(&stored, log, to).map_err(|error| Error::storage(format!("cannot export session {id}"), error))
}

fn write(stored: &StoredSession, log: Option<LogSource>, to: impl Write) -> io::Result<ExportReport> {
    let mut to = Counting { to: io::BufWriter::new(to), bytes: 0 };
    let record = record(stored);
    let mut report = ExportReport {
        session_id: stored.id.clone(),
        schema_version: SCHEMA_VERSION,
        messages: stored.history.messages().len(),
        entries: record.history.len(),
        events: None,
        bytes: 0,
        left_out: 0,
        left_out_pieces: Vec::new(),
    };
    write!(to, "{{\"schemaVersion\":{SCHEMA_VERSION},\n\"record\":")?;
    serde_json::to_writer(&mut to, &record)?;
    drop(record);
    if let Some(LogSource { lines, payloads, .. }) = log {
        to.write_all(b",\n\"log\":[")?;
        // What is logged after the record was read is not part of it.
        write_events(&stored.id, lines.take(stored.mark.offset), payloads.as_deref(), &mut to, &mut report)?;
        to.write_all(b"]")?;
    }
    to.write_all(b"}\n")?;
    to.flush()?;
    report.bytes = to.bytes;
    Ok(report)
}

fn write_events(
    id: &SessionId,
    log: impl Read,
    payloads: Option<&dyn PayloadSource>,
    to: &mut impl Write,
    report: &mut ExportReport,
) -> io::Result<()> {
    let (mut lines, mut sequence, mut events) = (Lines::new(log, 0), Sequence::after(0), 0);
    while let Some(line) = lines.next()? {
        if line.text.is_empty() && !line.oversized && line.zeros == 0 {
            continue;
        }
        let Place { line: number, offset, length } = line.place;
        let mut tell = |reason: String| {
            report.left_out += 1;
            if report.left_out_pieces.len() < NAMED {
                let piece =
                    format!("line {}, byte {offset} (+{length}): {reason}", number.unwrap_or_default());
                report.left_out_pieces.push(printable(&piece));
            }
        };
        let whole =
            payloads.and_then(|payloads| expand(line.text, id, payloads, |error| tell(error.to_string())));
        let event = whole.as_deref().unwrap_or(line.text);
        match check(id, event, &mut sequence) {
            Ok(()) => {
                to.write_all(if events == 0 { b"\n" } else { b",\n" })?;
                to.write_all(event)?;
                events += 1;
            }
            Err(reason) => tell(reason),
        }
    }
    report.events = Some(events);
    Ok(())
}

/// As much of an event as tells whose it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Glance<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

/// Whether a line is an event of the session `id` that was not there before; why not, otherwise.
fn check(id: &SessionId, line: &[u8], sequence: &mut Sequence) -> Result<(), String> {
    let no_event = |error: serde_json::Error| format!("not an event: {error}");
    let event: Event = serde_json::from_slice(line).map_err(no_event)?;
    let glance: Glance<'_> = serde_json::from_slice(line).map_err(no_event)?;
    if glance.session_id != id.as_str() {
        return Err(format!("an event of session {}", glance.session_id));
    }
    // What is not known may be of a later version, or be broken: whoever opens a session can tell.
    if matches!(event.kind, EventKind::Unknown(_)) && OF_STATE.contains(&&*glance.event) {
        let mut fold = LogFold::new(id.clone());
        fold.read(line).map_err(|error| error.to_string())?;
        if fold.events() == 0 || fold.finish().defects.listed().iter().any(breaks) {
            return Err(format!("not a {} event", glance.event));
        }
    }
    match sequence.see(event.seq) {
        // Whoever reads the export tells a damaged number by the same rule.
        Seen::New | Seen::Impossible => Ok(()),
        Seen::Before => Err(format!("event {} a second time", event.seq)),
    }
}

fn breaks(defect: &crate::Defect) -> bool {
    matches!(defect.kind, crate::DefectKind::Garbage | crate::DefectKind::TornTail)
}

/// Counts what is written.
struct Counting<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
