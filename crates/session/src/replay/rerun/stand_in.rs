//! A model and tools that say what was recorded.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use robota_core::{
    Authorization, Body, Capabilities, DynTool, FinishReason, GateRequest, InvalidArguments, MessageRef,
    ModelEvent, ModelRequest, ModelStream, PreparedCall, Provider, ProviderError, ProviderErrorKind,
    ProviderInfo, ToolGate, ToolOutcome, ToolSpec,
};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::replay::answers::events_of;
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
            Some(Some(answer)) => {
                let mut events = events_of(answer.message.as_deref(), &self.info.id);
                events.push(ModelEvent::Finish(finish(answer)));
                events.into_iter().map(Ok).collect()
            }
            // A turn goes on after a call that failed only where the provider refused its length.
            Some(None) if self.progress.goes_on() => vec![failure(ProviderErrorKind::ContextLength)],
            _ => vec![failure(ProviderErrorKind::Protocol)],
        };
        stream::iter(events).boxed()
    }
}

/// Why the answer ends. With calls in it that decides nothing but whether the engine itself answers one that was cut off,
/// and the recorded result is the one that was sent, whatever earlier versions made of such a call.
fn finish(answer: &RecordedAnswer) -> FinishReason {
    let calls = answer.message.as_ref().is_some_and(|message| !message.tool_calls().is_empty());
    if calls { FinishReason::ToolUse } else { answer.finish.clone() }
}

fn failure(kind: ProviderErrorKind) -> Result<ModelEvent, ProviderError> {
    Err(ProviderError::new(kind, "the recording has no answer"))
}

/// Tools with the recorded specs, and the results of the turn that is run again, if one is.
pub(super) fn stand_in_tools(
    specs: &[Arc<ToolSpec>],
    progress: Option<&Arc<Progress>>,
) -> Vec<Arc<dyn DynTool>> {
    let tool = |spec: &Arc<ToolSpec>| -> Arc<dyn DynTool> {
        Arc::new(StandInTool { spec: Arc::clone(spec), progress: progress.cloned() })
    };
    specs.iter().map(tool).collect()
}

struct StandInTool {
    spec: Arc<ToolSpec>,
    progress: Option<Arc<Progress>>,
}

impl DynTool for StandInTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, _: &str) -> Result<PreparedCall, InvalidArguments> {
        let progress = self.progress.clone();
        Ok(PreparedCall::new(Vec::new(), move |context| {
            let outcome =
                recorded(progress.as_ref().and_then(|progress| progress.result_of(&context.call_id)));
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
