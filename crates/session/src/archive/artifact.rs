//! The artifact of a session: one JSON document with its record and the events of its log.

use robota_core::{EntryCategory, EntryData, HistoryEntry, MessageRef, SessionId, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::artifact_log::ArtifactLog;
use super::raw_object::RawObject;
use super::{ImportError, ImportErrorKind, fields};
use crate::{SessionRecord, session_name};

/// The version of the format that is written, and the newest that is read.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// An artifact that has been read and found right: it can be imported.
///
/// `{"schemaVersion":1,"record":{…},"log":[…]}`: the record is an `ISessionRecord` of seed `000`, the
/// log the events of the session in order. The original writes no log (facts sheet 4.1).
#[derive(Clone, Debug)]
pub struct Artifact {
    pub(super) record: SessionRecord,
    pub(super) log: Option<ArtifactLog>,
    pub(super) ignored_fields: Vec<String>,
}

impl Artifact {
    /// The id of the session it was made from.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.record.id
    }

    /// The record.
    #[must_use]
    pub fn record(&self) -> &SessionRecord {
        &self.record
    }

    /// How many events its log has; `None` when it has no log.
    #[must_use]
    pub fn events(&self) -> Option<usize> {
        self.log.as_ref().map(|log| log.events)
    }

    /// Fields of the document that this version does not know.
    #[must_use]
    pub fn ignored_fields(&self) -> &[String] {
        &self.ignored_fields
    }
}

/// Reads an artifact and checks all of it. Pure: touches no store.
///
/// # Errors
///
/// Names the field that is wrong, and what was expected in its place. Any other format is refused:
/// records without the document around them, arrays, lines of JSON, exports of a `Conversation`,
/// transcripts of other agents.
pub fn parse_artifact(json: &[u8]) -> Result<Artifact, ImportError> {
    // Some editors and shells put a byte order mark in front of UTF-8.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let document: RawObject<'_> = serde_json::from_slice(json).map_err(|error| no_document(json, &error))?;
    check_version(&document)?;
    let record = decode_record(&document)?;
    let log = match document.get("log") {
        None => None,
        Some(events) => {
            let events: Vec<&RawValue> = serde_json::from_str(events.get())
                .map_err(|_| ImportError::field("log", "an array of events", start_of(events)))?;
            // A log without events tells nothing; the record does.
            if events.is_empty() { None } else { Some(ArtifactLog::check(&record.id, &events)?) }
        }
    };
    let known = ["schemaVersion", "record", "log"];
    let names = document.fields.into_iter().map(|(name, _)| name);
    let ignored_fields = names.filter(|name| !known.contains(&name.as_str())).collect();
    Ok(Artifact { record, log, ignored_fields })
}

fn check_version(document: &RawObject<'_>) -> Result<(), ImportError> {
    let Some(version) = document.get("schemaVersion") else {
        let found = format!("nothing; {}", guess(document));
        let expected = format!("the number {SCHEMA_VERSION}");
        return Err(ImportError::new(ImportErrorKind::OtherFormat, "schemaVersion", expected, found));
    };
    match serde_json::from_str::<u64>(version.get()) {
        Ok(SCHEMA_VERSION) => Ok(()),
        Ok(newer) if newer > SCHEMA_VERSION => {
            let expected = format!("at most {SCHEMA_VERSION}");
            Err(ImportError::new(ImportErrorKind::NewerVersion, "schemaVersion", expected, newer))
        }
        _ => {
            let expected = format!("the number {SCHEMA_VERSION}");
            let found = start_of(version);
            Err(ImportError::new(ImportErrorKind::OtherFormat, "schemaVersion", expected, found))
        }
    }
}

/// What JSON without a version looks like.
fn guess(document: &RawObject<'_>) -> &'static str {
    let has = |names: &[&str]| names.iter().all(|name| document.get(name).is_some());
    if has(&["id", "state", "metadata"]) {
        "it looks like the export of a Conversation"
    } else if has(&["id", "cwd", "messages"]) {
        "it looks like a bare session record"
    } else if has(&["sessionId", "seq", "event"]) {
        "it looks like a line of a session log"
    } else if has(&["sessionId", "type"]) || has(&["uuid", "type"]) || has(&["type", "payload"]) {
        "it looks like the transcript of another agent"
    } else {
        "it is JSON of another kind"
    }
}

fn no_document(json: &[u8], error: &serde_json::Error) -> ImportError {
    let expected = "one JSON object with `schemaVersion` and `record`";
    let other = |found: &str| ImportError::new(ImportErrorKind::OtherFormat, "", expected, found);
    let text = json.trim_ascii_start();
    if text.is_empty() {
        return other("nothing");
    }
    if error.is_data() && text.first() == Some(&b'{') {
        // An object, but one with a field twice.
        return ImportError::new(ImportErrorKind::InvalidField, "", expected, error);
    }
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    match (values.next(), values.next()) {
        (Some(Ok(_)), Some(_)) => other("several JSON values, as in a file of JSON lines"),
        (Some(Ok(first)), None) if first.get().starts_with('[') => other("an array"),
        (Some(Ok(first)), None) => other(&start_of(first)),
        _ => ImportError::new(ImportErrorKind::Syntax, "", expected, format!("no JSON ({error})")),
    }
}

fn decode_record(document: &RawObject<'_>) -> Result<SessionRecord, ImportError> {
    let expected = "a session record, which is an object";
    let Some(raw) = document.get("record") else {
        return Err(ImportError::field("record", expected, "nothing"));
    };
    let mut record: RawObject<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        let twice = raw.get().starts_with('{').then(|| error.to_string());
        ImportError::field("record", expected, twice.unwrap_or_else(|| start_of(raw)))
    })?;
    check_plain_fields(&record)?;
    let messages = items(&record, "messages")?;
    let messages = messages.ok_or_else(|| ImportError::field("record.messages", "an array", "nothing"))?;
    let history = items(&record, "history")?.unwrap_or_default();
    check_items::<MessageRef>("record.messages", &messages, message_is_right, fields::blame_message)?;
    check_items::<HistoryEntry>("record.history", &history, entry_is_right, fields::blame_entry)?;
    // A place in another log and a seal of other bytes mean nothing here; `history: null` is none.
    record.fields.retain(|(name, value)| match name.as_str() {
        "log" | "seal" => false,
        "history" => value.get() != "null",
        _ => true,
    });
    let wrong = |error: serde_json::Error| ImportError::field("record", "a session record", error);
    let json = serde_json::to_vec(&record).map_err(wrong)?;
    let (mut record, defects) = SessionRecord::decode(&json).map_err(wrong)?;
    record.name = session_name::kept(record.name.as_deref()).unwrap_or_default();
    match defects.into_iter().next() {
        Some(defect) => Err(ImportError::field("record", "a session record", defect.detail)),
        None => Ok(record),
    }
}

/// Checks all but the large lists, which are not decoded for it.
fn check_plain_fields(record: &RawObject<'_>) -> Result<(), ImportError> {
    let plain = record.fields.iter().filter(|(name, _)| !matches!(name.as_str(), "messages" | "history"));
    let mut decoded = serde_json::Map::new();
    for (name, value) in plain {
        let value = serde_json::from_str(value.get())
            .map_err(|error| ImportError::field(format!("record.{name}"), "JSON", error))?;
        decoded.insert(name.clone(), value);
    }
    fields::record("record", &decoded).map(drop)
}

fn items<'a>(record: &RawObject<'a>, field: &str) -> Result<Option<Vec<&'a RawValue>>, ImportError> {
    let Some(value) = record.get(field) else { return Ok(None) };
    if field == "history" && value.get() == "null" {
        return Ok(None);
    }
    serde_json::from_str(value.get())
        .map(Some)
        .map_err(|_| ImportError::field(format!("record.{field}"), "an array", start_of(value)))
}

fn check_items<'a, T: Deserialize<'a>>(
    path: &str,
    items: &[&'a RawValue],
    right: fn(&T) -> bool,
    blame: fn(&str, &Value) -> ImportError,
) -> Result<(), ImportError> {
    for (index, item) in items.iter().enumerate() {
        if serde_json::from_str::<T>(item.get()).is_ok_and(|item| right(&item)) {
            continue;
        }
        let path = format!("{path}[{index}]");
        return Err(match serde_json::from_str(item.get()) {
            Ok(value) => blame(&path, &value),
            Err(error) => ImportError::field(path, "JSON", error),
        });
    }
    Ok(())
}

fn message_is_right(message: &MessageRef) -> bool {
    fields::is_time(message.timestamp)
}

fn entry_is_right(entry: &HistoryEntry) -> bool {
    let data = match (&entry.data, entry.category) {
        (EntryData::Message(message), EntryCategory::Chat) => message_is_right(message),
        (EntryData::Event(_), EntryCategory::Event) => true,
        _ => false,
    };
    data && fields::is_time(entry.timestamp)
}

/// Whether all times in what a log came to can be written down.
pub(super) fn first_bad_time(messages: &[MessageRef], entries: &[HistoryEntry]) -> Option<Timestamp> {
    let times = messages.iter().map(|message| message.timestamp);
    times.chain(entries.iter().map(|entry| entry.timestamp)).find(|time| !fields::is_time(*time))
}

pub(super) fn start_of(value: &RawValue) -> String {
    match value.get().bytes().next() {
        Some(b'[') => "an array".to_owned(),
        Some(b'{') => "an object".to_owned(),
        _ => value.get().to_owned(),
    }
}
