//! Lists sessions by their heads, without reading whole records.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use robota_core::{SessionId, Timestamp};
use serde::Serialize;

use super::head::HeadFields;
use super::{SessionHead, log_head};
use crate::files;

/// How much of a record is read to find its head.
const RECORD_PREFIX: usize = 4 * 1024;

/// From so many sessions on, a second thread is quicker by more than it costs.
const WORTH_A_THREAD: usize = 256;

/// All sessions of a store.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// Their heads, latest first.
    pub sessions: Vec<SessionHead>,
    /// Files that belong to no session that can be read.
    pub skipped: Vec<SkippedFile>,
}

impl Listing {
    /// Puts the latest first, for implementers of [`SessionStore`](super::SessionStore).
    pub fn sort(&mut self) {
        self.sessions.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
    }
}

/// A file that a listing could not use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SkippedFile {
    /// Where it is.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
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
pub(crate) fn list(sessions: &Path, logs: &Path) -> io::Result<Listing> {
    let mut found: BTreeMap<SessionId, Files> = BTreeMap::new();
    for id in session_files(sessions, ".json")? {
        found.entry(id).or_default().record = true;
    }
    for id in session_files(logs, ".jsonl")? {
        found.entry(id).or_default().log = true;
    }
    let found: Vec<(SessionId, Files)> = found.into_iter().collect();
    let mut listing = Listing::default();
    for head in read_heads(sessions, logs, &found) {
        match head {
            Ok(head) => listing.sessions.push(head),
            Err(skipped) => listing.skipped.push(skipped),
        }
    }
    listing.sort();
    Ok(listing)
}

/// Reads the heads of all that was found, in that order. Nearly all of the time goes into opening files,
/// which the system does for several threads at once.
fn read_heads(
    sessions: &Path,
    logs: &Path,
    found: &[(SessionId, Files)],
) -> Vec<Result<SessionHead, SkippedFile>> {
    let read = |found: &[(SessionId, Files)]| -> Vec<_> {
        found.iter().map(|(id, files)| read_head(sessions, logs, id, *files)).collect()
    };
    let (ours, theirs) =
        found.split_at(if found.len() < WORTH_A_THREAD { found.len() } else { found.len() / 2 });
    if theirs.is_empty() {
        return read(ours);
    }
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| read(theirs));
        let mut heads = read(ours);
        match theirs.join() {
            Ok(theirs) => heads.extend(theirs),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        heads
    })
}

/// The head of one session; `None` when it has no files. Where they tell nothing of it, the head
/// has its id alone: it may still be opened.
pub(super) fn head(sessions: &Path, logs: &Path, id: &SessionId) -> io::Result<Option<SessionHead>> {
    let there = |path: PathBuf| files::found(&path).map(|found| found.is_some());
    let files = Files { record: there(record_path(sessions, id))?, log: there(log_path(logs, id))? };
    if !files.record && !files.log {
        return Ok(None);
    }
    let unknown = || SessionHead::new(id.clone(), PathBuf::new(), Timestamp::default());
    Ok(Some(read_head(sessions, logs, id, files).unwrap_or_else(|_| unknown())))
}

pub(super) fn record_path(sessions: &Path, id: &SessionId) -> PathBuf {
    sessions.join(format!("{id}.json"))
}

pub(super) fn log_path(logs: &Path, id: &SessionId) -> PathBuf {
    logs.join(format!("{id}.jsonl"))
}

/// The sessions that have a file in `folder` whose name is their id and `suffix`.
pub(crate) fn session_files(folder: &Path, suffix: &str) -> io::Result<Vec<SessionId>> {
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
            Ok((head, Some(taken_at))) if files.log => {
                let log = log_path(logs, id);
                return Ok(log_head::bring_up_to_date(head.clone(), &log, taken_at).unwrap_or(head));
            }
            Ok((head, _)) => return Ok(head),
            Err(error) => reason = Some(SkippedFile { path, reason: error.to_string() }),
        }
    }
    if files.log {
        let path = log_path(logs, id);
        match log_head::of_log(&path, id) {
            Ok(head) => return Ok(head),
            Err(error) => reason = Some(SkippedFile { path, reason: error.to_string() }),
        }
    }
    Err(reason.unwrap_or_else(|| SkippedFile {
        path: record_path(sessions, id),
        reason: "the file is gone".to_owned(),
    }))
}

/// The head in a record, and the place in the log the record was taken at.
pub(super) fn record_head(path: &Path, id: &SessionId) -> io::Result<(SessionHead, Option<u64>)> {
    let mut file = files::open_read(path)?;
    let mut text = Vec::with_capacity(RECORD_PREFIX);
    file.by_ref().take(RECORD_PREFIX as u64).read_to_end(&mut text)?;
    let mut fields = HeadFields::of_prefix(&text);
    if fields.is_none() {
        // A record of the original may have its fields in any order.
        text.clear();
        file.rewind()?;
        file.read_to_end(&mut text)?;
        fields = HeadFields::of_prefix(&text);
    }
    let Some(fields) = fields else { return Err(io::Error::other("the record is not whole")) };
    let taken_at = fields.log.map(|log| log.offset);
    match fields.into_head() {
        Some(head) if head.id == *id => Ok((head, taken_at)),
        Some(head) => Err(io::Error::other(format!("the record is that of session {}", head.id))),
        None => Err(io::Error::other("the record has no id, cwd or createdAt")),
    }
}
