//! Lists sessions by their heads, without reading whole records.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use robota_core::{Event, EventKind, SessionId, Timestamp};

use super::SessionHead;
use super::head::{HeadFields, preview};

/// How much of a record is read to find its head.
const RECORD_PREFIX: u64 = 4 * 1024;
/// How much of a log is read to find its first events, when there is no snapshot.
const LOG_PREFIX: u64 = 64 * 1024;

/// All sessions of a store.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// Their heads, latest first.
    pub sessions: Vec<SessionHead>,
    /// Files that belong to no session that can be read.
    pub skipped: Vec<SkippedFile>,
}

/// A file that a listing could not use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFile {
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// The files of one session.
#[derive(Clone, Copy, Debug, Default)]
struct Files {
    record: bool,
    log: bool,
}

/// Lists the sessions whose records are in `sessions` and whose logs are in `logs`.
pub(super) fn list(sessions: &Path, logs: &Path) -> io::Result<Listing> {
    let mut found: BTreeMap<SessionId, Files> = BTreeMap::new();
    for id in ids(sessions, ".json")? {
        found.entry(id).or_default().record = true;
    }
    for id in ids(logs, ".jsonl")? {
        found.entry(id).or_default().log = true;
    }
    let mut listing = Listing::default();
    for (id, files) in &found {
        match read_head(sessions, logs, id, *files) {
            Ok(head) => listing.sessions.push(head),
            Err(skipped) => listing.skipped.push(skipped),
        }
    }
    listing.sessions.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
    Ok(listing)
}

/// The head of one session; `None` when it has no files. Where they tell nothing of it, the head
/// has its id alone: it may still be opened.
pub(super) fn head(sessions: &Path, logs: &Path, id: &SessionId) -> Option<SessionHead> {
    let files = Files { record: record_path(sessions, id).exists(), log: log_path(logs, id).exists() };
    if !files.record && !files.log {
        return None;
    }
    let unknown = || SessionHead::new(id.clone(), PathBuf::new(), Timestamp::default());
    Some(read_head(sessions, logs, id, files).unwrap_or_else(|_| unknown()))
}

pub(super) fn record_path(sessions: &Path, id: &SessionId) -> PathBuf {
    sessions.join(format!("{id}.json"))
}

pub(super) fn log_path(logs: &Path, id: &SessionId) -> PathBuf {
    logs.join(format!("{id}.jsonl"))
}

fn ids(folder: &Path, suffix: &str) -> io::Result<Vec<SessionId>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        ids.extend(name.to_str().and_then(|name| name.strip_suffix(suffix)?.parse::<SessionId>().ok()));
    }
    Ok(ids)
}

fn read_head(sessions: &Path, logs: &Path, id: &SessionId, files: Files) -> Result<SessionHead, SkippedFile> {
    let mut reason = None;
    if files.record {
        let path = record_path(sessions, id);
        match record_head(&path, id) {
            Ok(fields) => return Ok(with_log_time(fields, &log_path(logs, id), files.log)),
            Err(error) => reason = Some(SkippedFile { path, reason: error.to_string() }),
        }
    }
    if files.log {
        let path = log_path(logs, id);
        match log_head(&path, id) {
            Ok(head) => return Ok(head),
            Err(error) => reason = Some(SkippedFile { path, reason: error.to_string() }),
        }
    }
    Err(reason.unwrap_or_else(|| SkippedFile {
        path: record_path(sessions, id),
        reason: "the file is gone".to_owned(),
    }))
}

fn record_head(path: &Path, id: &SessionId) -> io::Result<(SessionHead, Option<u64>)> {
    let prefix = read_prefix(path, RECORD_PREFIX)?;
    let fields = match HeadFields::of_prefix(&prefix) {
        Some(fields) => Some(fields),
        // A record of the original may have its fields in any order.
        None => HeadFields::of_prefix(&fs::read(path)?),
    };
    let Some(fields) = fields else { return Err(io::Error::other("the record is not whole")) };
    let taken_at = fields.log.map(|log| log.offset);
    match fields.into_head() {
        Some(head) if head.id == *id => Ok((head, taken_at)),
        Some(head) => Err(io::Error::other(format!("the record is that of session {}", head.id))),
        None => Err(io::Error::other("the record has no id, cwd or createdAt")),
    }
}

/// Where the log has grown since the snapshot, its file knows the time better.
fn with_log_time((mut head, taken_at): (SessionHead, Option<u64>), log: &Path, has_log: bool) -> SessionHead {
    if let (Some(taken_at), true) = (taken_at, has_log)
        && let Ok(metadata) = fs::metadata(log)
        && metadata.len() > taken_at
    {
        head.updated_at = head.updated_at.max(modified(&metadata));
    }
    head
}

/// The head of a session that has no snapshot yet, from the first events of its log.
fn log_head(path: &Path, id: &SessionId) -> io::Result<SessionHead> {
    let prefix = read_prefix(path, LOG_PREFIX)?;
    let mut lines = prefix.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let fields = HeadFields::of_prefix(first).and_then(HeadFields::into_head);
    let Some(mut head) = fields.filter(|head| head.id == *id) else {
        return Err(io::Error::other("the log does not begin with this session's session_init"));
    };
    head.preview = lines.find_map(|line| match serde_json::from_slice::<Event>(line).ok()?.kind {
        EventKind::User { content } => Some(preview(&content)),
        _ => None,
    });
    head.updated_at = head.updated_at.max(modified(&fs::metadata(path)?));
    Ok(head)
}

fn read_prefix(path: &Path, length: u64) -> io::Result<Vec<u8>> {
    let mut prefix = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    File::open(path)?.take(length).read_to_end(&mut prefix)?;
    Ok(prefix)
}

fn modified(metadata: &fs::Metadata) -> Timestamp {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    Timestamp::from_millis(millis.unwrap_or_default())
}
