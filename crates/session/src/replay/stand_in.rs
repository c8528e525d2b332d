//! A model and tools that say what was recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use robota_core::{
    Authorization, Body, Capabilities, DynTool, GateRequest, InvalidArguments, MessageRef, ModelEvent,
    ModelRequest, ModelStream, PreparedCall, Provider, ProviderError, ProviderErrorKind, ProviderInfo,
    ToolGate, ToolOutcome, ToolSpec,
};
use tokio_util::sync::CancellationToken;

use super::recording::RecordedAnswer;

/// A model that gives the recorded answers in order, and keeps what it was asked.
pub(super) struct StandInModel {
    info: ProviderInfo,
    answers: Mutex<VecDeque<RecordedAnswer>>,
    pub(super) requests: Mutex<Vec<Vec<MessageRef>>>,
}

impl StandInModel {
    pub(super) fn new(provider: &str, answers: Vec<RecordedAnswer>) -> Self {
        let capabilities = Capabilities { tools: true, images: true, thinking: true };
        Self {
            info: ProviderInfo::new(provider, capabilities),
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
        }
    }
}

impl Provider for StandInModel {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.messages);
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let events = match next {
            Some(answer) => events_of(&answer).into_iter().map(Ok).collect(),
            None => vec![Err(ProviderError::new(ProviderErrorKind::Protocol, "the recording ends here"))],
        };
        stream::iter(events).boxed()
    }
}

fn events_of(answer: &RecordedAnswer) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let body = answer.message.as_ref().map(|message| &message.body);
    if let Some(Body::Assistant { content, tool_calls, reasoning, .. }) = body {
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
    }
    events.push(ModelEvent::Finish(answer.finish.clone()));
    events
}

/// Tools with the recorded specs and results.
pub(super) fn stand_in_tools(
    specs: &[Arc<ToolSpec>],
    results: &HashMap<String, MessageRef>,
) -> Vec<Arc<dyn DynTool>> {
    let results = Arc::new(results.clone());
    let tool = |spec: &Arc<ToolSpec>| -> Arc<dyn DynTool> {
        Arc::new(StandInTool { spec: Arc::clone(spec), results: Arc::clone(&results) })
    };
    specs.iter().map(tool).collect()
}

struct StandInTool {
    spec: Arc<ToolSpec>,
    results: Arc<HashMap<String, MessageRef>>,
}

impl DynTool for StandInTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, _: &str) -> Result<PreparedCall, InvalidArguments> {
        let results = Arc::clone(&self.results);
        Ok(PreparedCall::new(Vec::new(), move |context| {
            Box::pin(async move { Ok(recorded(results.get(context.call_id.as_ref()))) })
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
