//! What all requests of an agent have in common besides model, prompt and tools.

use std::sync::Arc;

use crate::{Effort, ModelRequest, NativeWebToolsReport, ResponseFormat, Thinking};

/// How the model answers all requests of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct RequestTuning {
    /// How much effort it puts into an answer; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// Whether it thinks before it answers.
    pub thinking: Thinking,
    /// The form of its answers; `None` for free text.
    pub response_format: Option<ResponseFormat>,
    /// What the provider said of its own web tools; those that are on are asked for. `None` where it was not asked.
    pub native_web_tools: Option<NativeWebToolsReport>,
    /// Names the conversation to the provider's cache.
    pub cache_key: Option<Arc<str>>,
}

impl RequestTuning {
    pub(super) fn apply(&self, request: &mut ModelRequest) {
        request.effort = self.effort;
        request.thinking = self.thinking;
        request.response_format.clone_from(&self.response_format);
        request.native_web_tools =
            self.native_web_tools.as_ref().map(NativeWebToolsReport::enabled).unwrap_or_default();
        request.cache_key.clone_from(&self.cache_key);
    }
}
