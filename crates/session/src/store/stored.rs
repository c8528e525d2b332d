//! What a store knows of a session.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{History, SessionId, Timestamp, Usage};
use serde_json::{Map, Value};

use crate::{Defects, LogMark};

/// The state of a session as its snapshot and its log tell it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredSession {
    /// Its id.
    pub id: SessionId,
    /// Name given by the user.
    pub name: Option<String>,
    /// The folder it was made in.
    pub cwd: PathBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// The system prompt in use last.
    pub system_prompt: Option<Arc<str>>,
    /// Specs of the tools in use last, as JSON.
    pub tool_schemas: Option<Vec<Value>>,
    /// The session it was forked from.
    pub forked_from: Option<SessionId>,
    /// Messages and timeline.
    pub history: History,
    /// Number of the last turn; 0 before the first.
    pub turn: u32,
    /// Tokens of all its model calls, those of compactions too.
    pub usage: Usage,
    /// The end of the log.
    pub mark: LogMark,
    /// Where in the log the snapshot was taken that this state was read from; 0 without one.
    pub snapshot_offset: u64,
    /// Ids of the tool calls that began, and whose result is in no message.
    pub started_calls: BTreeSet<String>,
    /// Fields of the record that belong to others; kept when it is rewritten.
    pub extra: Map<String, Value>,
    /// True when the history comes from a record alone, and the log does not tell it.
    pub outside_log: bool,
    /// True when lines of the log are lost that held messages, so that positions in it have moved.
    pub has_gaps: bool,
    /// What could not be read.
    pub defects: Defects,
}

impl StoredSession {
    /// A session `id` of which nothing is known yet.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            name: None,
            cwd: PathBuf::new(),
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            system_prompt: None,
            tool_schemas: None,
            forked_from: None,
            history: History::default(),
            turn: 0,
            usage: Usage::default(),
            mark: LogMark::default(),
            snapshot_offset: 0,
            started_calls: BTreeSet::new(),
            extra: Map::new(),
            outside_log: false,
            has_gaps: false,
            defects: Defects::default(),
        }
    }
}
