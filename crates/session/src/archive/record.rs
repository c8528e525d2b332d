//! The record of a session that nobody has open.

use robota_core::{Message, MessageRef};

use crate::store::{PROMPT_ID, preview};
use crate::{Error, LineFilter, RecordLog, SessionRecord, Snapshot, StoredSession};

/// The session as a record, the system prompt first among the messages; without a place in a log. Where there
/// is none it says so, so that nobody takes the first message for it.
pub(super) fn record(stored: &StoredSession) -> SessionRecord {
    let system = stored.system_prompt.as_ref().filter(|system| !system.is_empty());
    let mut messages: Vec<MessageRef> = Vec::with_capacity(stored.history.messages().len() + 1);
    messages.extend(system.map(|text| Message::system(PROMPT_ID, stored.created_at, &**text).into()));
    messages.extend_from_slice(stored.history.messages());
    SessionRecord {
        id: stored.id.clone(),
        name: stored.name.clone(),
        cwd: stored.cwd.clone(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        message_count: None,
        preview: None,
        log: None,
        forked_from: stored.forked_from.clone(),
        system_prompt: Some(stored.system_prompt.clone().unwrap_or_default()),
        tool_schemas: stored.tool_schemas.as_deref().map(Into::into),
        messages,
        history: stored.history.entries().to_vec(),
        extra: stored.extra.clone(),
    }
}

/// The snapshot of a session whose log tells exactly this, up to `stored.mark`.
pub(super) fn snapshot(stored: &StoredSession, filter: Option<&LineFilter>) -> Result<Snapshot, Error> {
    let history = &stored.history;
    let first_prompt = history.messages().iter().find(|message| message.role() == "user");
    let mut record = record(stored);
    record.system_prompt = record.system_prompt.filter(|system| !system.is_empty());
    record.message_count = Some(history.messages().len());
    record.preview = first_prompt.map(|message| preview(message.text()));
    record.log = Some(RecordLog::new(stored.mark, stored.turn, history).with_usage(stored.usage));
    record.into_snapshot(filter)
}
