//! A model and tools that say what was recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use robota_core::{
    Authorization, Body, Capabilities, DynTool, GateRequest, InvalidArguments, MessageRef, ModelEvent,
    ModelRequest, ModelStream, Part, PreparedCall, Provider, ProviderError, ProviderErrorKind, ProviderInfo,
    ToolGate, ToolOutcome, ToolSpec,
};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::replay::recording::RecordedAnswer;

/// A model that gives the recorded answers in order, and has every request checked.
pub(super) struct StandInModel {
    info: ProviderInfo,
    progress: Arc<Progress>,
}

impl StandInModel {
    pub(super) fn new(provider: &str, progress: Arc<Progress>) -> Self {
        let capabilities =
            Capabilities { tools: true, images: true, thinking: true, ..Capabilities::default() };
        Self { info: ProviderInfo::new(provider, capabilities), progress }
    }
}

impl Provider for StandInModel {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        let recorded = self.progress.made(&request);
        let events = match recorded.map(|recorded| recorded.answer.as_ref()) {
            Some(Some(answer)) => events_of(answer).into_iter().map(Ok).collect(),
            // A turn goes on after a call that failed only where the provider refused its length.
            Some(None) if self.progress.goes_on() => vec![failure(ProviderErrorKind::ContextLength)],
            _ => vec![failure(ProviderErrorKind::Protocol)],
        };
        stream::iter(events).boxed()
    }
}

fn failure(kind: ProviderErrorKind) -> Result<ModelEvent, ProviderError> {
    Err(ProviderError::new(kind, "the recording has no answer"))
}

fn events_of(answer: &RecordedAnswer) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let body = answer.message.as_ref().map(|message| &message.body);
    if let Some(Body::Assistant { content, tool_calls, reasoning, parts }) = body {
        for block in reasoning {
            if let Some(data) = &block.redacted {
                events.push(ModelEvent::RedactedThinking(data.clone()));
            } else {
                events.push(ModelEvent::ThinkingDelta(block.text.clone()));
                events.push(ModelEvent::ThinkingEnd { signature: block.signature.clone() });
            }
        }
        events.extend(content.iter().map(|text| ModelEvent::TextDelta(text.clone())));
        for (index, call) in tool_calls.iter().enumerate() {
            events.push(ModelEvent::ToolCallStart { index, id: call.id.clone(), name: call.name.clone() });
            events.push(ModelEvent::ToolCallArguments { index, delta: call.arguments.clone() });
            events.push(ModelEvent::ToolCallEnd { index });
        }
        events.extend(parts.iter().filter_map(native));
    }
    events.push(ModelEvent::Finish(answer.finish.clone()));
    events
}

fn native(part: &Part) -> Option<ModelEvent> {
    let Part::Native { format, items } = part else { return None };
    Some(ModelEvent::NativeContent { format: format.clone(), items: items.clone() })
}

/// The recorded results of calls, by id. An id may come again when its first call is compacted away.
type Results = Mutex<HashMap<String, VecDeque<MessageRef>>>;

/// Tools with the recorded specs and results.
pub(super) fn stand_in_tools(
    specs: &[Arc<ToolSpec>],
    results: HashMap<String, VecDeque<MessageRef>>,
) -> Vec<Arc<dyn DynTool>> {
    let results = Arc::new(Mutex::new(results));
    let tool = |spec: &Arc<ToolSpec>| -> Arc<dyn DynTool> {
        Arc::new(StandInTool { spec: Arc::clone(spec), results: Arc::clone(&results) })
    };
    specs.iter().map(tool).collect()
}

struct StandInTool {
    spec: Arc<ToolSpec>,
    results: Arc<Results>,
}

impl DynTool for StandInTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, _: &str) -> Result<PreparedCall, InvalidArguments> {
        let results = Arc::clone(&self.results);
        Ok(PreparedCall::new(Vec::new(), move |context| {
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            let result = results.get_mut(context.call_id.as_ref()).and_then(VecDeque::pop_front);
            let outcome = recorded(result.as_ref());
            Box::pin(async move { Ok(outcome) })
        }))
    }
}

fn recorded(result: Option<&MessageRef>) -> ToolOutcome {
    let Some(Body::Tool { content, is_error, parts, .. }) = result.map(|message| &message.body) else {
        return ToolOutcome::failure("no result was recorded");
    };
    let mut outcome = ToolOutcome::success(content.clone());
    outcome.is_error = *is_error;
    outcome.parts.clone_from(parts);
    outcome
}

/// Lets every call through: what was denied then has its refusal as its result.
pub(super) struct Open;

impl ToolGate for Open {
    fn authorize<'a>(&'a self, _: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        Box::pin(async { Authorization::Allowed })
    }
}
