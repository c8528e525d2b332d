//! Hooks of the type `prompt`.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use robota_core::{
    Clock, HookAction, HookEvent, HookExecutor, HookFailure, HookReply, HookTask, Message, MessageRef,
    ModelEvent, ModelRequest, Provider,
};
use tokio_util::sync::CancellationToken;

use super::judgement::{self, ARGUMENTS, RULES, question};

/// Most output tokens of a judgement.
const MAX_TOKENS: u32 = 1024;

/// Runs hooks of the type `prompt`.
///
/// At an event that takes text for the model, a prompt without a `model` of its own is that text. Any other is a
/// question that a model answers with one small request.
pub(crate) struct PromptHook {
    provider: Arc<dyn Provider>,
    model: Arc<str>,
    clock: Arc<dyn Clock>,
}

impl PromptHook {
    /// Questions go to `model` of `provider`, unless a hook names another model.
    pub(crate) fn new(provider: Arc<dyn Provider>, model: Arc<str>, clock: Arc<dyn Clock>) -> Self {
        Self { provider, model, clock }
    }

    async fn run(&self, task: HookTask<'_>, cancel: &CancellationToken) -> Result<HookReply, HookFailure> {
        let HookAction::Prompt { prompt, model } = task.action else {
            return Err(HookFailure::new("is not a prompt"));
        };
        match model {
            None if takes_text(task.input.call.event()) => {
                Ok(HookReply::Context(prompt.replace(ARGUMENTS, task.json)))
            }
            model => {
                let model = model.as_deref().map_or_else(|| Arc::clone(&self.model), Arc::from);
                judgement::read(&self.ask(model, question(prompt, task.json)?, cancel).await?)
            }
        }
    }

    async fn ask(
        &self,
        model: Arc<str>,
        question: String,
        cancel: &CancellationToken,
    ) -> Result<String, HookFailure> {
        let mut request = ModelRequest::new(
            model,
            vec![MessageRef::new(Message::user("hook", self.clock.now(), question))],
        );
        request.system = RULES.into();
        request.max_output_tokens = Some(MAX_TOKENS);
        let mut events = self.provider.stream(request, cancel.child_token());
        let mut answer = String::new();
        while let Some(event) = events.next().await {
            match event.map_err(|error| HookFailure::new("had no answer from the model").because(error))? {
                ModelEvent::TextDelta(delta) => answer.push_str(&delta),
                ModelEvent::Retry { .. } | ModelEvent::Fallback { .. } => answer.clear(),
                _ => {}
            }
        }
        Ok(answer)
    }
}

impl HookExecutor for PromptHook {
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        Box::pin(self.run(task, cancel))
    }
}

/// Whether text of hooks reaches the model at this event.
const fn takes_text(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::SessionStart
            | HookEvent::UserPromptSubmit
            | HookEvent::PostToolUse
            | HookEvent::PostToolUseFailure
            | HookEvent::PostCompact
            | HookEvent::SubagentStart
    )
}
