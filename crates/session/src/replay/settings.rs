//! What a session is made of, as far as its requests show it.

use std::sync::Arc;

use robota_core::{
    Event, EventKind, MessageRef, ModelRequest, RequestTuning, ToolChoice, ToolSpec, last_words_message,
    sendable,
};

/// What `session_init` and `session_resume` tell of every request that follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) provider: String,
    pub(super) model: Arc<str>,
    pub(super) system: Arc<str>,
    pub(super) tools: Arc<[Arc<ToolSpec>]>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) tuning: RequestTuning,
    /// Secrets were taken out of prompt or tools.
    pub(super) redacted: bool,
}

impl Settings {
    /// The settings after `event`; `None` when it says nothing about them.
    pub(super) fn after(&self, event: &Event) -> Option<Self> {
        match &event.kind {
            EventKind::SessionInit {
                provider,
                model,
                system_prompt,
                tool_schemas,
                max_output_tokens,
                tuning,
                ..
            } => Some(Self {
                provider: provider.clone(),
                model: model.as_str().into(),
                system: Arc::clone(system_prompt),
                tools: Arc::clone(tool_schemas),
                max_output_tokens: *max_output_tokens,
                tuning: tuning.clone(),
                redacted: event.redacted,
            }),
            EventKind::SessionResume {
                provider,
                model,
                system_prompt,
                tool_schemas,
                max_output_tokens,
                tuning,
                ..
            } => Some(Self {
                provider: provider.clone(),
                model: model.as_str().into(),
                system: Arc::clone(system_prompt.as_ref().unwrap_or(&self.system)),
                tools: Arc::clone(tool_schemas.as_ref().unwrap_or(&self.tools)),
                max_output_tokens: *max_output_tokens,
                tuning: tuning.clone(),
                // What is not told again was found to be what the log has.
                redacted: event.redacted,
            }),
            _ => None,
        }
    }

    /// The request of a turn that sends `history` with these settings.
    pub(super) fn request(&self, history: &[MessageRef], last_words: bool) -> ModelRequest {
        let mut request = ModelRequest::new(Arc::clone(&self.model), sent(history, last_words));
        request.system = Arc::clone(&self.system);
        request.tools = Arc::clone(&self.tools);
        request.tool_choice = if last_words { ToolChoice::None } else { ToolChoice::Auto };
        request.max_output_tokens = self.max_output_tokens;
        self.tuning.apply(&mut request);
        request
    }
}

/// The messages of a request, as they were sent.
pub(super) fn sent(history: &[MessageRef], last_words: bool) -> Vec<MessageRef> {
    let mut messages = sendable(history);
    messages.extend(last_words.then(last_words_message));
    messages
}
