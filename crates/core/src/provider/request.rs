//! What is sent to a model.

use std::sync::Arc;

use crate::{MessageRef, ToolSpec};

/// One model call, in terms no provider owns.
///
/// System prompt and tools come first and do not change between compactions, so that providers
/// can cache the prefix (design section 1, promise 6).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Model id as the provider knows it.
    pub model: Arc<str>,
    /// System prompt; empty for none.
    pub system: Arc<str>,
    /// Tools the model may call, in a fixed order.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// The conversation, every call paired with its result.
    pub messages: Vec<MessageRef>,
    /// Whether and what the model may call this time.
    pub tool_choice: ToolChoice,
    /// Most output tokens; `None` leaves it to the provider's table.
    pub max_output_tokens: Option<u32>,
}

impl ModelRequest {
    /// A request without tools or system prompt.
    #[must_use]
    pub fn new(model: impl Into<Arc<str>>, messages: Vec<MessageRef>) -> Self {
        Self {
            model: model.into(),
            system: "".into(),
            tools: Arc::new([]),
            messages,
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
        }
    }
}

/// Whether the model may call tools in this answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must answer in text. The tools stay in the request, so the cached prefix stays valid.
    None,
    /// It must call some tool.
    Required,
    /// It must call this tool.
    Tool(String),
}
