//! Large fields that stand in files of their own, and were not put back.

use robota_core::{EntryData, Event, EventKind, HistoryMutation};
use serde_json::{Map, Value};

use super::issue::Issues;
use super::{ReplayIssue, ReplayIssueCode};

/// Nothing that a session records is nested deeper.
const DEEPEST: usize = 32;

/// The fields of a reference, no more and no less (facts sheet 4.3).
const FIELDS: [&str; 5] = ["kind", "encoding", "sha256", "byteLength", "relativePath"];

/// Says which fields of `event` are references still; true when there are some.
pub(super) fn look_through(index: usize, event: &Event, issues: &mut Issues) -> bool {
    let mut found = Vec::new();
    match &event.kind {
        EventKind::Unknown(fields) => fields.values().for_each(|value| find(value, 0, &mut found)),
        EventKind::ProviderNativeRawPayload { payload, .. } => find(payload, 0, &mut found),
        EventKind::ToolExecutionRequest { parameters, .. } => find(parameters, 0, &mut found),
        EventKind::ToolExecutionResult { result: Some(result), .. } => find(result, 0, &mut found),
        EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
            message.metadata.values().for_each(|value| find(value, 0, &mut found));
        }
        EventKind::HistoryMutation(HistoryMutation::AppendEntry { entry }) => {
            if let EntryData::Event(value) = &entry.data {
                find(value, 0, &mut found);
            }
        }
        _ => {}
    }
    for reference in &found {
        let file = reference.get("relativePath").and_then(Value::as_str).unwrap_or_default();
        let (code, message) = if is_whole(reference) {
            let message = format!("a field of event {} is not there: it stands in {file}", event.seq);
            (ReplayIssueCode::UnresolvedReplayPayload, message)
        } else {
            let message =
                format!("a field of event {} refers to a file, and does not say to which", event.seq);
            (ReplayIssueCode::PayloadReferenceInvalid, message)
        };
        let mut issue = ReplayIssue::new(code, index, message);
        issue.execution_id = super::calls::execution_id(event);
        issues.push(issue);
    }
    !found.is_empty()
}

fn find<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a Map<String, Value>>) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Object(fields) if fields.get("kind").is_some_and(|kind| kind == "external-payload") => {
            found.push(fields);
        }
        Value::Object(fields) => fields.values().for_each(|value| find(value, depth + 1, found)),
        Value::Array(items) => items.iter().for_each(|value| find(value, depth + 1, found)),
        _ => {}
    }
}

/// Whether the reference says where the field is.
fn is_whole(reference: &Map<String, Value>) -> bool {
    let hash = reference.get("sha256").and_then(Value::as_str).unwrap_or_default();
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path = reference.get("relativePath").and_then(Value::as_str).unwrap_or_default();
    reference.len() == FIELDS.len()
        && FIELDS.iter().all(|field| reference.contains_key(*field))
        && reference.get("encoding").is_some_and(|encoding| encoding == "json")
        && reference.get("byteLength").is_some_and(Value::is_u64)
        && is_hash
        && path.ends_with(&format!("{hash}.json"))
}
