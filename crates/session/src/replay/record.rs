//! The state of a session, reconstructed from its events.

use std::borrow::Borrow;
use std::path::PathBuf;

use robota_core::{
    Event, EventKind, HistoryEntry, MessageRef, RequestPurpose, SessionId, Timestamp, TurnEnd, Usage,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::log::{LogFold, Taken};

/// What a log tells of its session: `ISessionReplayRecord` of seed `000`.
///
/// Messages and timeline are those that a session resumed from the log has: compactions, clearing and
/// rewinding are taken into account, and a lost line costs the messages it held and no others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionReplayRecord {
    /// The session: that of the first event. `None` without events.
    pub session_id: Option<SessionId>,
    /// The folder it was made in.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub cwd: PathBuf,
    /// Name given by the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// When its first event happened.
    pub created_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// The messages as the model sees them, oldest first.
    pub messages: Vec<MessageRef>,
    /// The timeline: messages and the events between them, oldest first.
    pub history: Vec<HistoryEntry>,
    /// Its turns, in the order they began.
    pub turns: Vec<ReplayedTurn>,
    /// Tokens of all model calls, those of compactions included.
    pub usage: Usage,
    /// Model calls that were made, those of compactions included.
    pub model_calls: usize,
    /// Tool calls that were looked at.
    pub tool_calls: usize,
    /// Compactions of the history.
    pub compactions: usize,
    /// What background tasks told, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background_task_events: Vec<Value>,
    /// What groups of background tasks told, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background_job_group_events: Vec<Value>,
    /// What the memory told, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_events: Vec<Value>,
    /// Events that count.
    pub events: u64,
    /// Events of other sessions, which were passed over.
    pub foreign_events: u64,
    /// Events that were there before, which were passed over.
    pub duplicate_events: u64,
    /// Changes of the history that did not fit what came before them, and gaps in front of others.
    pub misfits: u64,
}

/// One turn, as its events tell it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayedTurn {
    /// Its number.
    pub turn: u32,
    /// When its first event happened.
    pub started_at: Timestamp,
    /// How it ended; `None` when the log does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<TurnEnd>,
    /// Model calls that were made in it.
    pub model_calls: usize,
    /// Tokens of its model calls, those of compactions included.
    pub usage: Usage,
}

/// Reconstructs a session from its events (`replaySessionLogEntries` of seed `000`).
///
/// The first event says which session it is; events of others, and events that come a second time, are
/// passed over and counted.
pub fn replay_session_log_entries<I>(events: I) -> SessionReplayRecord
where
    I: IntoIterator,
    I::Item: Borrow<Event>,
{
    let mut record = SessionReplayRecord::default();
    let mut fold = None;
    for event in events {
        let event = event.borrow();
        let fold = fold.get_or_insert_with(|| LogFold::new(event.session_id.clone()));
        match fold.take_event(event) {
            Taken::InOrder | Taken::Late => record.take(event),
            Taken::Duplicate => record.duplicate_events += 1,
            Taken::Foreign => record.foreign_events += 1,
        }
    }
    fold.map_or_else(SessionReplayRecord::default, |fold| record.with_state_of(fold))
}

impl SessionReplayRecord {
    fn take(&mut self, event: &Event) {
        self.events += 1;
        if event.turn > 0 && self.turns.last().is_none_or(|last| last.turn < event.turn) {
            self.turns.push(ReplayedTurn {
                turn: event.turn,
                started_at: event.timestamp,
                ended: None,
                model_calls: 0,
                usage: Usage::default(),
            });
        }
        match &event.kind {
            EventKind::ProviderRequest { purpose, .. } => {
                self.model_calls += 1;
                if *purpose == RequestPurpose::Turn
                    && let Some(turn) = self.turn(event)
                {
                    turn.model_calls += 1;
                }
            }
            EventKind::ProviderResponseNormalized { usage, .. } | EventKind::CompactSummary { usage, .. } => {
                self.usage += *usage;
                if let Some(turn) = self.turn(event) {
                    turn.usage += *usage;
                }
            }
            EventKind::ToolExecutionRequest { .. } => self.tool_calls += 1,
            EventKind::ContextCompact { .. } => self.compactions += 1,
            EventKind::Complete { ended, .. } => {
                if let Some(turn) = self.turn(event) {
                    turn.ended = Some(*ended);
                }
            }
            EventKind::Unknown(fields) => self.take_others(fields),
            _ => {}
        }
    }

    /// The turn that `event` belongs to.
    fn turn(&mut self, event: &Event) -> Option<&mut ReplayedTurn> {
        self.turns.iter_mut().rev().find(|turn| turn.turn == event.turn)
    }

    /// Takes what other parts of the program have put into the log.
    fn take_others(&mut self, fields: &Map<String, Value>) {
        let (list, field) = match fields.get("event").and_then(Value::as_str) {
            Some("background_task_event") => (&mut self.background_task_events, "backgroundEvent"),
            Some("background_job_group_event") => {
                (&mut self.background_job_group_events, "backgroundJobGroupEvent")
            }
            Some("memory_event") => (&mut self.memory_events, "memoryEvent"),
            _ => return,
        };
        list.extend(fields.get(field).or_else(|| fields.get("data")).cloned());
    }

    fn with_state_of(mut self, fold: LogFold) -> Self {
        let state = fold.finish();
        let passed_over = self.foreign_events + self.duplicate_events;
        self.misfits = (state.defects.total() as u64).saturating_sub(passed_over);
        self.session_id = Some(state.id);
        self.cwd = state.cwd;
        self.name = state.name;
        self.forked_from = state.forked_from;
        self.created_at = state.created_at;
        self.updated_at = state.updated_at;
        self.messages = state.history.messages().to_vec();
        self.history = state.history.entries().to_vec();
        self
    }
}
