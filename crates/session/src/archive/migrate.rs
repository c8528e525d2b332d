//! Records from before there were timelines get one: `migrate-session-history.mjs` of seed `000`, Session
//! Data Migration.

use std::io::Read;
use std::path::Path;

use robota_core::SessionId;
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw_object::RawObject;
use crate::store::{SessionLock, session_files};
use crate::{Error, FileStore, SkippedFile, files};

/// What a migration came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MigrationReport {
    /// Nothing was written; the rest says what would have been.
    pub dry_run: bool,
    /// The records that have got a timeline.
    pub migrated: Vec<SessionId>,
    /// The records that had one.
    pub skipped: Vec<SessionId>,
    /// The records that stay as they are, and why.
    pub failed: Vec<SkippedFile>,
}

/// Gives every record of `store` that has no `history` one that is made of its `messages`: one chat entry
/// each, system messages too. All other bytes of the record stay, and the messages are repeated with every
/// field and number as it was written.
///
/// A record is replaced whole, with the session locked; that of a session that is open is left alone. May
/// be run again at any time. A dry run writes nothing, and makes sure of nothing but what it reads.
///
/// # Errors
///
/// [`Storage`](crate::ErrorKind::Storage) when the folder cannot be listed. What is wrong with single
/// records is in the report.
pub async fn migrate(store: &FileStore, dry_run: bool) -> Result<MigrationReport, Error> {
    store.blocking_on(move |store| run(store, dry_run)).await
}

/// What becomes of a record.
enum Step {
    Migrated,
    HadHistory,
}

fn run(store: &FileStore, dry_run: bool) -> Result<MigrationReport, Error> {
    let (sessions, _) = store.parts();
    let mut ids = session_files(sessions, ".json")
        .map_err(|error| Error::storage(format!("cannot list {}", sessions.display()), error))?;
    ids.sort();
    let mut report = MigrationReport { dry_run, ..MigrationReport::default() };
    for id in ids {
        let path = store.record_path(&id);
        match migrate_record(store, &id, &path, dry_run) {
            Ok(Step::Migrated) => report.migrated.push(id),
            Ok(Step::HadHistory) => report.skipped.push(id),
            Err(reason) => report.failed.push(SkippedFile { path, reason }),
        }
    }
    Ok(report)
}

fn migrate_record(store: &FileStore, id: &SessionId, path: &Path, dry_run: bool) -> Result<Step, String> {
    // Most records need nothing, and a look needs no lock.
    if with_history(&read(path)?, id)?.is_none() {
        return Ok(Step::HadHistory);
    }
    if dry_run {
        return match SessionLock::holder(&store.lock_path(id)) {
            Ok(None) => Ok(Step::Migrated),
            Ok(Some(owner)) => Err(Error::locked(id, owner).to_string()),
            Err(error) => Err(error.to_string()),
        };
    }
    let _lock = store.lock(id).map_err(|error| error.to_string())?;
    // Another program may have been quicker.
    let Some(migrated) = with_history(&read(path)?, id)? else { return Ok(Step::HadHistory) };
    files::replace(path, &migrated).map_err(|error| format!("cannot be replaced: {error}"))?;
    Ok(Step::Migrated)
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = files::open_read(path).and_then(|mut file| file.read_to_string(&mut text));
    read.map(|_| text).map_err(|error| format!("cannot be read: {error}"))
}

/// The record with a timeline; `None` when it has one.
fn with_history(json: &str, id: &SessionId) -> Result<Option<Vec<u8>>, String> {
    let record: RawObject<'_> =
        serde_json::from_str(json).map_err(|error| format!("is no session record: {error}"))?;
    let own = record.get("id").and_then(|value| serde_json::from_str::<String>(value.get()).ok());
    if own.as_deref() != Some(id.as_str()) {
        return Err(format!("`id` is not that of the file: expected `{id}`, found {}", shown(own)));
    }
    let history = record.get("history");
    // This program's own records have one, also where nothing has happened yet.
    if history.is_some() && record.get("log").is_some() {
        return Ok(None);
    }
    let messages = record.get("messages").ok_or("`messages`: expected an array, found nothing")?;
    let no_list = |_| "`messages`: expected an array, found something else".to_owned();
    let list: Vec<&RawValue> = serde_json::from_str(messages.get()).map_err(no_list)?;
    let empty = |value: &RawValue| value.get() == "null" || is_empty_list(value);
    if history.is_some_and(|history| !empty(history) || (list.is_empty() && history.get() != "null")) {
        return Ok(None);
    }
    let entries = list.iter().enumerate().map(|(index, message)| entry(index, message));
    let entries = entries.collect::<Result<Vec<Entry<'_>>, String>>()?;
    splice(json, history, messages, &entries).map(Some)
}

fn is_empty_list(value: &RawValue) -> bool {
    value.get().strip_prefix('[').is_some_and(|rest| rest.trim_start() == "]")
}

/// Puts the timeline behind the messages, or in the place of an empty one, and keeps every other byte.
fn splice(
    json: &str,
    history: Option<&RawValue>,
    messages: &RawValue,
    entries: &[Entry<'_>],
) -> Result<Vec<u8>, String> {
    let is_indented = json.trim_start().starts_with("{\n") || json.trim_start().starts_with("{\r\n");
    let list =
        if is_indented { serde_json::to_string_pretty(entries) } else { serde_json::to_string(entries) };
    let list = list.map_err(|error| format!("cannot be encoded: {error}"))?;
    let list = list.replace('\n', "\n  ");
    let (from, to, middle) = match history {
        Some(history) => {
            let from = position(json, history);
            (from, from + history.get().len(), list)
        }
        None => {
            let from = position(json, messages) + messages.get().len();
            let between = if is_indented { ",\n  \"history\": " } else { ",\"history\":" };
            (from, from, format!("{between}{list}"))
        }
    };
    match (json.get(..from), json.get(to..)) {
        (Some(before), Some(after)) => Ok([before, &middle, after].concat().into_bytes()),
        _ => Err("is no session record".to_owned()),
    }
}

/// Where a value that was borrowed from `json` begins in it.
fn position(json: &str, value: &RawValue) -> usize {
    (value.get().as_ptr() as usize).saturating_sub(json.as_ptr() as usize)
}

/// `IHistoryEntry` of a message.
#[derive(Serialize)]
struct Entry<'a> {
    id: Box<RawValue>,
    timestamp: Box<RawValue>,
    category: &'static str,
    r#type: String,
    data: &'a RawValue,
}

fn entry<'a>(index: usize, message: &'a RawValue) -> Result<Entry<'a>, String> {
    let wrong = |what: &str| format!("`messages[{index}]{what}");
    let fields: RawObject<'_> = serde_json::from_str(message.get())
        .map_err(|error| wrong(&format!("`: expected a message, found something else ({error})")))?;
    let text =
        |name: &str| fields.get(name).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
    let Some(role) =
        text("role").filter(|role| matches!(role.as_str(), "user" | "assistant" | "system" | "tool"))
    else {
        let found = fields.get("role").map_or("nothing", RawValue::get);
        return Err(wrong(&format!(".role`: expected user, assistant, system or tool, found {found}")));
    };
    let (Some(id), Some(timestamp)) = (text("id").and(fields.get("id")), fields.get("timestamp")) else {
        let missing = if text("id").is_none() { "id" } else { "timestamp" };
        return Err(wrong(&format!(".{missing}`: expected a value, found nothing usable")));
    };
    Ok(Entry {
        id: id.to_owned(),
        timestamp: timestamp.to_owned(),
        category: "chat",
        r#type: role,
        data: message,
    })
}

fn shown(text: Option<String>) -> String {
    text.map_or_else(|| "none".to_owned(), |text| format!("`{text}`"))
}
