//! Callbacks for a host that shows a session as it runs: the `on…` options of seed `000`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::{CompactTrigger, ContextState, EventKind};
use serde_json::Value;

/// Is told what happens in a session, at once and in the order it happens.
///
/// Each session has its own: sessions that share a provider never mix. The methods are called from the
/// task that runs the turn, so they must return quickly. Whoever needs every event, or may be slow, takes
/// a [`Subscription`](crate::Subscription) instead. All methods do nothing by themselves.
pub trait SessionObserver: Send + Sync {
    /// The model has said more (`onTextDelta`).
    fn text_delta(&self, _delta: &str) {}

    /// What the model has said of this answer is void: the call failed in the middle of it and is made again,
    /// or another model is asked. The answer begins anew.
    fn answer_abandoned(&self) {}

    /// A tool call begins or ends (`onToolExecution`). Each call has one start and one end, with the same
    /// id, whether it ran, was denied, or named a tool that does not exist.
    fn tool_execution(&self, _execution: &ToolExecution) {}

    /// The context window was measured: before the model is called with a prompt, and after each answer
    /// (`onContextUpdate`).
    fn context_update(&self, _state: &ContextState) {}

    /// The history was compacted to `summary` (`onCompact`).
    fn compact(&self, _summary: &str) {}

    /// The history was compacted (`onCompactEvent`).
    fn compact_event(&self, _event: &CompactEvent) {}
}

/// The start or the end of a tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolExecution {
    /// The call begins, or is answered without running.
    Start {
        /// Id of the call.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// The arguments: JSON, or a string when malformed.
        tool_args: Value,
    },
    /// The call has ended.
    End {
        /// Id of the call.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// The arguments, as at the start.
        tool_args: Value,
        /// Whether it succeeded.
        success: bool,
        /// Whether it was not allowed to run.
        denied: bool,
        /// Stable reason of a failure, such as `unknown_tool`.
        error_code: Option<String>,
        /// Facts about the result, for display.
        tool_result_data: Option<Value>,
    },
}

/// What a compaction did to the window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompactEvent {
    /// What asked for it.
    pub trigger: CompactTrigger,
    /// How full the window was.
    pub before: ContextState,
    /// How full it is.
    pub after: ContextState,
}

/// Turns events into calls of an observer.
pub(crate) struct Observed {
    observer: Arc<dyn SessionObserver>,
    memory: Mutex<Memory>,
}

/// What later events refer to.
#[derive(Default)]
struct Memory {
    /// Arguments of the calls that have begun, by id.
    arguments: HashMap<String, Value>,
    summary: String,
}

impl Observed {
    pub(crate) fn new(observer: Arc<dyn SessionObserver>) -> Self {
        Self { observer, memory: Mutex::default() }
    }

    /// Tells the observer of an event. No lock is held while it is told.
    pub(crate) fn tell(&self, kind: &EventKind) {
        match kind {
            EventKind::TextDelta { delta } => self.observer.text_delta(delta),
            EventKind::ProviderRetry { abandoned: true, .. }
            | EventKind::ProviderFallback { abandoned: true, .. } => self.observer.answer_abandoned(),
            EventKind::Context(state) => self.observer.context_update(state),
            EventKind::ToolExecutionRequest { tool_name, tool_call_id, parameters, .. } => {
                self.memory().arguments.insert(tool_call_id.clone(), parameters.clone());
                self.observer.tool_execution(&ToolExecution::Start {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    tool_args: parameters.clone(),
                });
            }
            EventKind::ToolExecutionResult {
                tool_name, tool_call_id, success, error_code, result, ..
            } => {
                let tool_args = self.memory().arguments.remove(tool_call_id).unwrap_or_default();
                self.observer.tool_execution(&ToolExecution::End {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    tool_args,
                    success: *success,
                    denied: matches!(error_code.as_deref(), Some("permission_denied" | "hook_blocked")),
                    error_code: error_code.clone(),
                    tool_result_data: result.clone(),
                });
            }
            EventKind::CompactSummary { summary, .. } => self.memory().summary.clone_from(summary),
            EventKind::ContextCompact { trigger, before, after, .. } => {
                let summary = std::mem::take(&mut self.memory().summary);
                self.observer.compact(&summary);
                let (trigger, before, after) = (*trigger, *before, *after);
                self.observer.compact_event(&CompactEvent { trigger, before, after });
            }
            _ => {}
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
