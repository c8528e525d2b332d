//! The head of a session as its log tells it: without a snapshot, or since the last one.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use robota_core::{Event, EventKind, HistoryMutation, SessionId, Timestamp};
use serde::Deserialize;

use super::SessionHead;
use super::head::{HeadFields, preview};
use super::payloads::PayloadFiles;
use crate::log::{Lines, expand};
use crate::{PayloadSource, files};

/// How much of a log is read for a listing. A snapshot is taken before a log is that long.
const LIMIT: u64 = 4 * 1024 * 1024;

/// The head of the session `id`, which has no snapshot, from its log.
///
/// # Errors
///
/// Also when the log has no event of that session.
pub(super) fn of_log(path: &Path, id: &SessionId) -> io::Result<SessionHead> {
    let file = files::open_read(path)?;
    let written = modified(&file.metadata()?);
    let payloads = beside(path, id);
    let mut head = told(id, None, file, Some(&payloads))?
        .ok_or_else(|| io::Error::other("no event of this session could be read in the log"))?;
    head.updated_at = head.updated_at.max(written);
    Ok(head)
}

fn beside(log: &Path, id: &SessionId) -> PayloadFiles {
    PayloadFiles::new(log.parent().unwrap_or(Path::new(".")), id)
}

/// What `log` says of the session `id`, of which `head` is known already; `None` when nothing is.
pub(super) fn told(
    id: &SessionId,
    head: Option<SessionHead>,
    log: impl Read,
    payloads: Option<&dyn PayloadSource>,
) -> io::Result<Option<SessionHead>> {
    let mut told = Told { id, head, payloads };
    let mut lines = Lines::new(log.take(LIMIT), 0);
    while let Some(line) = lines.next()? {
        told.take(line.text);
    }
    Ok(told.head)
}

/// Adds to `head`, which is that of a snapshot taken at byte `taken_at` of the log, what the log says
/// after it: when it was last written, and another name.
pub(super) fn bring_up_to_date(head: SessionHead, path: &Path, taken_at: u64) -> io::Result<SessionHead> {
    // The file is opened only when it has something to tell: a listing meets very many.
    let Some(metadata) = files::found(path)?.filter(|metadata| metadata.len() > taken_at) else {
        return Ok(head);
    };
    let mut file = files::open_read(path)?;
    let id = head.id.clone();
    let written = modified(&metadata).max(head.updated_at);
    file.seek(SeekFrom::Start(taken_at))?;
    let known = SessionHead { updated_at: written, ..head.clone() };
    let newer = told(&id, Some(known), file, Some(&beside(path, &id)))?;
    Ok(newer.unwrap_or(head))
}

/// When the first event of the session `id` happened, as its log says; `None` when none can be read.
pub(super) fn begun(path: &Path, id: &SessionId) -> io::Result<Option<Timestamp>> {
    let mut lines = Lines::new(files::open_read(path)?.take(LIMIT), 0);
    while let Some(line) = lines.next()? {
        if let Some(glance) = Glance::of(line.text, id) {
            return Ok(Some(glance.timestamp));
        }
    }
    Ok(None)
}

/// What the lines read so far tell.
struct Told<'a> {
    id: &'a SessionId,
    head: Option<SessionHead>,
    payloads: Option<&'a dyn PayloadSource>,
}

/// As much of an event as decides whether it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Glance<'a> {
    timestamp: Timestamp,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
}

impl<'a> Glance<'a> {
    /// What is no event of the session `id` is passed over here, and named when the session is opened.
    fn of(line: &'a [u8], id: &SessionId) -> Option<Self> {
        serde_json::from_slice::<Self>(line).ok().filter(|glance| glance.session_id == id.as_str())
    }
}

impl Told<'_> {
    fn take(&mut self, line: &[u8]) {
        let Some(glance) = Glance::of(line, self.id) else { return };
        let unknown = || SessionHead::new(self.id.clone(), PathBuf::new(), glance.timestamp);
        let head = self.head.get_or_insert_with(unknown);
        match glance.event.as_ref() {
            "session_init" => {
                if let Some(init) = HeadFields::of_prefix(line).and_then(HeadFields::into_head) {
                    head.cwd = init.cwd;
                    head.name = init.name;
                }
            }
            "session_name" => {
                if let Some(EventKind::SessionName { name }) = kind_of(line) {
                    head.name = name;
                }
            }
            "user" | "history_mutation" if head.preview.is_none() => {
                // What is missing is named when the session is opened.
                let whole = self.payloads.and_then(|payloads| expand(line, self.id, payloads, drop));
                head.preview =
                    kind_of(whole.as_deref().unwrap_or(line)).as_ref().and_then(prompt).map(preview);
            }
            _ => {}
        }
    }
}

fn kind_of(line: &[u8]) -> Option<EventKind> {
    serde_json::from_slice::<Event>(line).ok().map(|event| event.kind)
}

/// What the user said; in the log of a fork the conversation before it stands in mutations alone.
fn prompt(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::User { content, .. } => Some(content),
        EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. })
            if message.role() == "user" =>
        {
            Some(message.text())
        }
        _ => None,
    }
}

fn modified(metadata: &fs::Metadata) -> Timestamp {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    Timestamp::from_millis(millis.unwrap_or_default())
}
