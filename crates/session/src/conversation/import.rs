//! From an export back to a conversation. Only this format is read; whatever is something else is refused
//! with the name of the field.

use std::collections::HashMap;

use robota_core::{History, Message, MessageRef, SessionId, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::import_field::{Field, Fields, ImportError};
use super::{
    Conversation, ConversationExport, ConversationOptions, ExportMetadata, RateLimits, StateExport,
    TokenInfo, identity, lock,
};

impl ConversationExport {
    /// Reads an export from JSON text.
    ///
    /// # Errors
    ///
    /// When it is no JSON, or no export: see [`from_value`](ConversationExport::from_value).
    pub fn from_json(json: &[u8]) -> Result<Self, ImportError> {
        let value: Value =
            serde_json::from_slice(json).map_err(|error| ImportError::new(".", "JSON", error.to_string()))?;
        Self::from_value(&value)
    }

    /// Reads an export from a JSON value.
    ///
    /// # Errors
    ///
    /// The first field that is missing, not of its kind, contradicts another, or is unknown to the format.
    pub fn from_value(value: &Value) -> Result<Self, ImportError> {
        let export = Field::root(value).object_of(&["id", "state", "metadata"])?;
        let id = conversation_id(&export.get("id"))?;
        let state = state(&export.get("state"))?;
        let metadata = metadata(&export.get("metadata"), state.history.len())?;
        Ok(Self { id, state, metadata })
    }
}

impl Conversation {
    /// The conversation that `export` was made of, with runtime state of its own: no turn, no errors, no
    /// counters. It lives in memory until it is initialized.
    ///
    /// It has the id of the export, or `options.session_id` where that is given; its commands are approved
    /// again.
    ///
    /// # Errors
    ///
    /// When a field of `export` was changed to something that does not belong there.
    pub fn import(export: ConversationExport, options: ConversationOptions) -> Result<Self, ImportError> {
        let ConversationExport { id, state, metadata } = export;
        let session = match &options.session_id {
            Some(given) => given.clone(),
            None => session_id(&id)?,
        };
        let mut history = History::default();
        for message in state.history.iter() {
            history.append(message.clone());
        }
        let created = time("metadata.created", metadata.created)?;
        let accessed = time("metadata.lastAccessed", metadata.last_accessed)?;
        let mut conversation = Self::assemble(options, session, None, history);
        for (at, command) in state.approved_commands.iter().enumerate() {
            let field = || format!("state.approvedCommands[{at}]");
            let refused = |_| ImportError::new(field(), "a text that is not empty", "an empty one");
            conversation.approvals.add(command).map_err(refused)?;
        }
        conversation.created = created;
        conversation.accessed = accessed.as_millis().into();
        let mut ledger = lock(&conversation.ledger);
        ledger.tokens = state.token_info;
        ledger.limits = state.latest_rate_limits;
        drop(ledger);
        Ok(conversation)
    }
}

fn conversation_id(field: &Field<'_>) -> Result<String, ImportError> {
    let text = field.text()?;
    match identity::uuid_of(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(field.expected("`conv_` and a UUID")),
    }
}

fn session_id(id: &str) -> Result<SessionId, ImportError> {
    let session = identity::uuid_of(id).and_then(|uuid| uuid.to_string().parse().ok());
    session.ok_or_else(|| ImportError::new("id", "`conv_` and a UUID", format!("`{id}`")))
}

fn state(field: &Field<'_>) -> Result<StateExport, ImportError> {
    let state = field.object_of(&["history", "approvedCommands", "tokenInfo", "latestRateLimits"])?;
    let history = state.get("history").object_of(&["items"])?;
    let approved = state.get("approvedCommands");
    Ok(StateExport {
        history: items(&history.get("items"))?.into(),
        approved_commands: approved
            .list()?
            .map(|command| command.text().map(str::to_owned))
            .collect::<Result<_, _>>()?,
        token_info: token_info(&state.get("tokenInfo"))?,
        latest_rate_limits: rate_limits(&state.get("latestRateLimits"))?,
    })
}

fn token_info(field: &Field<'_>) -> Result<Option<TokenInfo>, ImportError> {
    if field.is_absent() {
        return Ok(None);
    }
    let info = field.object_of(&[
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ])?;
    let count = |name| {
        let field = info.get(name);
        if field.is_absent() { Ok(0) } else { field.count() }
    };
    Ok(Some(TokenInfo {
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens")?,
        total_tokens: count("total_tokens")?,
        cache_creation_input_tokens: count("cache_creation_input_tokens")?,
        cache_read_input_tokens: count("cache_read_input_tokens")?,
    }))
}

fn rate_limits(field: &Field<'_>) -> Result<Option<RateLimits>, ImportError> {
    if field.is_absent() {
        return Ok(None);
    }
    let limits = field.object_of(&[
        "limit_requests",
        "limit_tokens",
        "remaining_requests",
        "remaining_tokens",
        "reset_requests",
        "reset_tokens",
    ])?;
    let count = |name| {
        let field = limits.get(name);
        if field.is_absent() { Ok(None) } else { field.count().map(Some) }
    };
    let text = |name| {
        let field = limits.get(name);
        if field.is_absent() { Ok(None) } else { field.text().map(|text| Some(text.to_owned())) }
    };
    Ok(Some(RateLimits {
        limit_requests: count("limit_requests")?,
        limit_tokens: count("limit_tokens")?,
        remaining_requests: count("remaining_requests")?,
        remaining_tokens: count("remaining_tokens")?,
        reset_requests: text("reset_requests")?,
        reset_tokens: text("reset_tokens")?,
    }))
}

fn metadata(field: &Field<'_>, items: usize) -> Result<ExportMetadata, ImportError> {
    let metadata = field.object_of(&["created", "lastAccessed", "messageCount"])?;
    let count = metadata.get("messageCount");
    if count.count()? != items as u64 {
        return Err(count.expected(format!("{items}, the number of items of the history")));
    }
    let millis = |name| {
        let field = metadata.get(name);
        let millis = field.value.and_then(Value::as_i64).and_then(Timestamp::try_from_millis);
        millis.map(Timestamp::as_millis).ok_or_else(|| field.expected("milliseconds since the Unix epoch"))
    };
    Ok(ExportMetadata {
        created: millis("created")?,
        last_accessed: millis("lastAccessed")?,
        message_count: items,
    })
}

fn time(field: &str, millis: i64) -> Result<Timestamp, ImportError> {
    Timestamp::try_from_millis(millis)
        .ok_or_else(|| ImportError::new(field, "milliseconds since the Unix epoch", millis.to_string()))
}

fn items(field: &Field<'_>) -> Result<Vec<MessageRef>, ImportError> {
    let mut places = HashMap::new();
    let mut messages = Vec::new();
    for item in field.list()? {
        let fields = item.object()?;
        let id = fields.get("id");
        if let Some(other) = places.insert(id.text()?, messages.len()) {
            return Err(id.expected(format!("an id of its own, not that of {}[{other}]", field.path)));
        }
        messages.push(message(&item, &fields)?.into());
    }
    Ok(messages)
}

/// The message of one item, in the JSON of facts sheet 2.5.
fn message(item: &Field<'_>, fields: &Fields<'_>) -> Result<Message, ImportError> {
    let (time, role, content) = (fields.get("timestamp"), fields.get("role"), fields.get("content"));
    let is_time = time.value.is_some_and(|value| Timestamp::deserialize(value).is_ok());
    if !is_time {
        return Err(time.expected("an RFC 3339 time or milliseconds since the Unix epoch"));
    }
    let role_name = role.value.and_then(Value::as_str).unwrap_or_default();
    if !["user", "assistant", "system", "tool"].contains(&role_name) {
        return Err(role.expected("user, assistant, system or tool"));
    }
    let may_be_empty = role_name == "assistant" && content.value.is_none_or(Value::is_null);
    if !may_be_empty && !content.value.is_some_and(Value::is_string) {
        return Err(content.expected("a text"));
    }
    if role_name == "tool" {
        fields.get("toolCallId").text()?;
    }
    let message = item.value.map_or(Ok(None), |value| Message::deserialize(value).map(Some));
    match message {
        Ok(Some(message)) => {
            nothing_lost(item, serde_json::to_value(&message).ok().as_ref())?;
            Ok(message)
        }
        Ok(None) => Err(item.expected("an object")),
        Err(error) => Err(culprit(item, fields, &error)),
    }
}

/// Refuses what a message does not have, at any depth, because it would be lost.
fn nothing_lost(field: &Field<'_>, kept: Option<&Value>) -> Result<(), ImportError> {
    let (Some(value), Some(kept)) = (field.value, kept) else {
        let lost = field.value.is_some_and(says_something);
        return if lost { Err(field.expected("no such field: a message has none")) } else { Ok(()) };
    };
    match (value, kept) {
        (Value::Object(_), Value::Object(kept)) => {
            let fields = field.object()?;
            fields.keys().try_for_each(|key| nothing_lost(&fields.get(key), kept.get(key)))
        }
        (Value::Array(_), Value::Array(kept)) => {
            field.list()?.zip(kept).try_for_each(|(member, kept)| nothing_lost(&member, Some(kept)))
        }
        _ => Ok(()),
    }
}

/// Whether a field with this value differs from one that is not there.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

/// The field without which the item would be a message.
fn culprit(item: &Field<'_>, fields: &Fields<'_>, error: &serde_json::Error) -> ImportError {
    let Some(Value::Object(map)) = item.value else { return item.expected("an object") };
    let reads_without = |key: &&str| {
        let rest: Map<String, Value> = map
            .iter()
            .filter(|(name, _)| name != key)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Message::deserialize(&Value::Object(rest)).is_ok()
    };
    let field = fields.keys().find(reads_without).map(|key| fields.get(key));
    let mut refused = field.as_ref().unwrap_or(item).expected("what a message has there");
    refused.found = format!("{} ({error})", refused.found);
    refused
}
