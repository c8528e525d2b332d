//! The sink a turn writes to: the journal, with an eye on what the session must know at the end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures_util::future::BoxFuture;
use robota_core::{Error, EventKind, EventSink, HistoryMutation, RequestPurpose, Usage};
use serde_json::Value;

use crate::archive::TurnEnds;
use crate::observer::Observed;
use crate::{Conversation, Journal, SessionObserver};

/// A tool call that was not allowed to run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Denial {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// The arguments.
    pub tool_input: Value,
}

/// Hands everything to the journal and takes note of what passes.
pub(super) struct SessionSink {
    journal: Arc<Journal>,
    observed: Option<Observed>,
    /// Counts what passes. Set once it is made, which happens around this sink.
    conversation: OnceLock<Weak<Conversation>>,
    seen: Mutex<Seen>,
    turn_ends: Mutex<TurnEnds>,
}

/// What has passed.
#[derive(Default)]
pub(super) struct Seen {
    /// Calls denied in this turn.
    pub(super) denials: Vec<Denial>,
    /// Model calls made in this turn.
    pub(super) rounds: u32,
    /// Tokens of its rounds.
    pub(super) usage: Usage,
    /// Tokens of compactions within it.
    pub(super) compaction_usage: Usage,
    /// Id of the first message that it added to the history.
    pub(super) first_message: Option<String>,
    /// Id of the last answer of the model in it.
    pub(super) last_answer: Option<String>,
    /// Ids of the calls that began and have no result in the history.
    pub(super) started: BTreeSet<String>,
}

impl SessionSink {
    pub(super) fn new(journal: Arc<Journal>, observer: Option<Arc<dyn SessionObserver>>) -> Self {
        let observed = observer.map(Observed::new);
        Self {
            journal,
            observed,
            conversation: OnceLock::new(),
            seen: Mutex::default(),
            turn_ends: Mutex::default(),
        }
    }

    /// From now on `conversation` counts what passes.
    pub(super) fn count_in(&self, conversation: &Arc<Conversation>) {
        self.conversation.get_or_init(|| Arc::downgrade(conversation));
    }

    /// Tells the conversation what it counts.
    fn count(&self, kind: &EventKind) {
        let Some(conversation) = self.conversation.get().and_then(Weak::upgrade) else { return };
        match kind {
            EventKind::ProviderResponseNormalized { usage, .. } | EventKind::CompactSummary { usage, .. } => {
                conversation.record_usage(usage);
            }
            EventKind::ToolExecutionRequest { tool_name, .. } => conversation.track_tool_usage(tool_name),
            EventKind::ToolBatchStarted { .. } => conversation.set_executing(true),
            EventKind::ProviderRequest { .. } => conversation.set_executing(false),
            _ => {}
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the turns of this value ended.
    pub(super) fn turn_ends(&self) -> MutexGuard<'_, TurnEnds> {
        self.turn_ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the turn before.
    pub(super) fn begin_turn(&self) {
        let mut seen = self.seen();
        *seen = Seen { started: std::mem::take(&mut seen.started), ..Seen::default() };
    }
}

impl EventSink for SessionSink {
    fn emit(&self, kind: EventKind) {
        if let EventKind::HistoryMutation(mutation) = &kind {
            self.turn_ends().see(mutation);
        }
        match &kind {
            EventKind::ProviderRequest { last_words: false, purpose: RequestPurpose::Turn, .. } => {
                self.seen().rounds += 1;
            }
            EventKind::CompactSummary { usage, .. } => self.seen().compaction_usage += *usage,
            EventKind::ProviderResponseNormalized { usage, .. } => self.seen().usage += *usage,
            EventKind::ToolExecutionRequest { tool_call_id, .. } => {
                self.seen().started.insert(tool_call_id.clone());
            }
            EventKind::PermissionDenied { tool_name, tool_call_id, parameters, .. } => {
                self.seen().denials.push(Denial {
                    tool_name: tool_name.clone(),
                    tool_call_id: tool_call_id.clone(),
                    tool_input: parameters.clone(),
                });
            }
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                let mut seen = self.seen();
                seen.first_message.get_or_insert_with(|| message.id.clone());
                if message.role() == "assistant" {
                    seen.last_answer = Some(message.id.clone());
                }
                if let Some(call) = message.answers() {
                    seen.started.remove(call);
                }
            }
            _ => {}
        }
        self.count(&kind);
        if let Some(observed) = &self.observed {
            observed.tell(&kind);
        }
        self.journal.emit(kind);
    }

    fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.journal.written()
    }
}
