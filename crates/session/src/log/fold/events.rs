//! The same fold over events that are decoded already, as replay has them.

use std::borrow::Cow;

use robota_core::{Event, EventKind, History, HistoryHead, HistoryMutation, HistoryRef, ToolSpec};
use serde_json::Value;

use super::{Envelope, LogFold};
use crate::StoredSession;
use crate::log::lines::{Line, Place};

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It counts, and is later than all before it.
    InOrder,
    /// It counts, and stands behind events that came after it.
    Late,
    /// It was there before, and is passed over.
    Duplicate,
    /// It is another session's, and is passed over.
    Foreign,
}

impl Taken {
    /// Whether the event counts.
    pub(crate) const fn counts(self) -> bool {
        matches!(self, Self::InOrder | Self::Late)
    }
}

impl LogFold {
    /// Takes the next event, by the rules that hold for lines.
    pub(crate) fn take_event(&mut self, event: &Event) -> Taken {
        let line = Line {
            place: Place { line: None, offset: self.offset, length: 0 },
            text: b"",
            zeros: 0,
            ended: true,
            oversized: false,
        };
        let envelope = Envelope {
            seq: event.seq,
            timestamp: event.timestamp,
            session_id: Cow::Borrowed(event.session_id.as_str()),
            turn: event.turn,
            redacted: event.redacted,
            event: Cow::Borrowed(""),
            mutation: None,
            index: None,
            message: None,
        };
        if self.admit(&line, &envelope).is_none() {
            let foreign = event.session_id != self.state.id;
            return if foreign { Taken::Foreign } else { Taken::Duplicate };
        }
        if let Some(reference) = reference(&event.kind) {
            self.expect(&line, reference.length);
        }
        match &event.kind {
            EventKind::HistoryMutation(mutation) => {
                self.change_history(&line, HistoryMutation::clone(mutation));
            }
            kind => self.state.take_facts(kind),
        }
        if self.late { Taken::Late } else { Taken::InOrder }
    }

    /// The state after everything taken, but for the mark.
    pub(crate) fn state(&self) -> &StoredSession {
        &self.state
    }

    /// The messages and the timeline after everything taken.
    pub(crate) fn history(&self) -> &History {
        &self.state.history
    }

    /// How many messages the log says there are: those of the history, and those that no line held.
    pub(crate) fn told_length(&self) -> usize {
        self.told()
    }

    /// Whether lines are lost that held messages.
    pub(crate) fn has_gaps(&self) -> bool {
        self.state.has_gaps || self.missing.shifts()
    }

    /// Believes that the history has come to `head`.
    pub(crate) fn believe(&mut self, head: HistoryHead) {
        self.state.history.rebase(head);
    }
}

impl StoredSession {
    fn take_facts(&mut self, kind: &EventKind) {
        match kind {
            EventKind::SessionInit { cwd, name, system_prompt, tool_schemas, forked_from, .. } => {
                self.cwd.clone_from(cwd);
                self.name.clone_from(name);
                self.forked_from.clone_from(forked_from);
                self.system_prompt = Some(system_prompt.clone());
                self.tool_schemas = Some(as_json(tool_schemas));
            }
            EventKind::SessionResume { system_prompt, tool_schemas, .. } => {
                self.system_prompt = system_prompt.clone().or_else(|| self.system_prompt.take());
                let schemas = tool_schemas.as_ref().map(|schemas| as_json(schemas));
                self.tool_schemas = schemas.or_else(|| self.tool_schemas.take());
            }
            EventKind::SessionName { name } => self.name.clone_from(name),
            EventKind::ProviderResponseNormalized { usage, .. } | EventKind::CompactSummary { usage, .. } => {
                self.usage += *usage;
            }
            EventKind::ToolExecutionRequest { tool_call_id, .. } => {
                self.started_calls.insert(tool_call_id.clone());
            }
            _ => {}
        }
    }
}

/// The history an event says there was before it.
fn reference(kind: &EventKind) -> Option<&HistoryRef> {
    match kind {
        EventKind::PreRun { history, .. }
        | EventKind::ProviderRequest { history, .. }
        | EventKind::Assistant { history, .. }
        | EventKind::Interrupted { history, .. }
        | EventKind::Complete { history, .. } => Some(history),
        _ => None,
    }
}

fn as_json(specs: &[std::sync::Arc<ToolSpec>]) -> Vec<Value> {
    specs.iter().map(|spec| serde_json::to_value(spec).unwrap_or_default()).collect()
}
