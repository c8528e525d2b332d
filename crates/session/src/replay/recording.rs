//! What a log says about the turns of a session.

use std::collections::HashMap;
use std::sync::Arc;

use robota_core::{
    Event, EventKind, FinishReason, History, HistoryMutation, MessageRef, MessageState, ToolSpec, sendable,
};

use crate::log::{Seen, Sequence};

/// The turns of a session as they were recorded.
#[derive(Default)]
pub(super) struct Recording {
    pub(super) turns: Vec<RecordedTurn>,
}

/// One recorded turn.
pub(super) struct RecordedTurn {
    pub(super) turn: u32,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) system: Arc<str>,
    pub(super) tools: Arc<[Arc<ToolSpec>]>,
    pub(super) max_rounds: u32,
    /// The history before the prompt.
    pub(super) before: History,
    pub(super) prompt: MessageRef,
    /// The messages of each request.
    pub(super) requests: Vec<Vec<MessageRef>>,
    /// The whole answers, in order.
    pub(super) answers: Vec<RecordedAnswer>,
    /// Results by call id.
    pub(super) results: HashMap<String, MessageRef>,
}

/// A whole answer of the model.
#[derive(Clone)]
pub(super) struct RecordedAnswer {
    pub(super) finish: FinishReason,
    /// `None` for an empty answer.
    pub(super) message: Option<MessageRef>,
}

/// What holds from one event to the next.
#[derive(Default)]
struct Walk {
    history: History,
    provider: String,
    model: String,
    system: Arc<str>,
    tools: Arc<[Arc<ToolSpec>]>,
    max_rounds: u32,
    recording: Recording,
}

impl Recording {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut walk = Walk::default();
        let mut sequence = Sequence::after(0);
        // A line that stands there twice happened once.
        for event in events.iter().filter(|event| sequence.see(event.seq) == Seen::New) {
            walk.take(event);
        }
        walk.recording
    }
}

impl Walk {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SessionInit { provider, model, system_prompt, tool_schemas, .. } => {
                self.provider.clone_from(provider);
                self.model.clone_from(model);
                self.system = Arc::clone(system_prompt);
                self.tools = Arc::clone(tool_schemas);
            }
            EventKind::SessionResume { provider, model, system_prompt, tool_schemas, .. } => {
                self.provider.clone_from(provider);
                self.model.clone_from(model);
                self.system = system_prompt.clone().unwrap_or_else(|| Arc::clone(&self.system));
                self.tools = tool_schemas.clone().unwrap_or_else(|| Arc::clone(&self.tools));
            }
            EventKind::HistoryMutation(mutation) => self.mutation(event.turn, mutation),
            EventKind::PreRun { max_rounds, .. } => {
                self.max_rounds = *max_rounds;
                if let Some(turn) = self.recording.turns.last_mut() {
                    turn.max_rounds = *max_rounds;
                }
            }
            EventKind::ProviderRequest { .. } => {
                let messages = sendable(self.history.messages());
                if let Some(turn) = self.recording.turns.last_mut() {
                    turn.requests.push(messages);
                }
            }
            EventKind::ProviderResponseNormalized { finish_reason, .. } => {
                if let Some(turn) = self.recording.turns.last_mut() {
                    turn.answers.push(RecordedAnswer { finish: finish_reason.clone(), message: None });
                }
            }
            _ => {}
        }
    }

    fn mutation(&mut self, turn: u32, mutation: &HistoryMutation) {
        if let HistoryMutation::AppendMessage { message, .. } = mutation {
            self.message(turn, message);
        }
        // A line that was lost shows as a mismatch; what follows is then compared with what is there.
        let _ = self.history.apply(mutation);
    }

    fn message(&mut self, turn: u32, message: &MessageRef) {
        let begun = self.recording.turns.last().is_some_and(|last| last.turn == turn);
        if turn > 0 && !begun && message.role() == "user" {
            self.recording.turns.push(RecordedTurn {
                turn,
                provider: self.provider.clone(),
                model: self.model.clone(),
                system: Arc::clone(&self.system),
                tools: Arc::clone(&self.tools),
                max_rounds: 0,
                before: self.history.clone(),
                prompt: message.clone(),
                requests: Vec::new(),
                answers: Vec::new(),
                results: HashMap::new(),
            });
            return;
        }
        let Some(current) = self.recording.turns.last_mut() else { return };
        if let Some(call_id) = message.answers() {
            current.results.insert(call_id.to_owned(), message.clone());
        } else if message.role() == "assistant"
            && message.state == MessageState::Complete
            && let Some(answer) = current.answers.last_mut()
        {
            answer.message.get_or_insert_with(|| message.clone());
        }
    }
}
