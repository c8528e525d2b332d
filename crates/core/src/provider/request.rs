//! What is sent to a model.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Effort, NativeWebTools, RequestDigest, ResponseFormat, Thinking};
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
    /// How much effort the model puts into the answer; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// Whether it thinks before it answers.
    pub thinking: Thinking,
    /// The form of the answer; `None` for free text.
    pub response_format: Option<ResponseFormat>,
    /// Web tools that the provider runs by itself. What it does not have is not asked for.
    pub native_web_tools: NativeWebTools,
    /// Names the conversation, so that a provider can send requests with the same beginning to where that is cached.
    pub cache_key: Option<Arc<str>>,
    /// How long the server may send nothing at all; `None` leaves it to the provider's own setting.
    pub idle_timeout: Option<Duration>,
    /// Which native payloads the provider hands over with [`ModelEvent::Raw`](super::ModelEvent::Raw).
    pub raw_capture: RawCapture,
}

/// Which native payloads are recorded (seed `000`, `provider_native_raw_payload`).
///
/// Each piece of a stream is recorded, and redacted, by itself: a secret that comes in several pieces stays
/// in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RawCapture {
    /// None.
    #[default]
    Off,
    /// What the server sends. Costs the log two to three times the bytes of the answers.
    Responses,
    /// Also what is sent to the server: the whole conversation with every call, so that the log grows with
    /// the square of its length.
    Full,
}

impl RawCapture {
    /// Whether nothing is recorded.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
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
            effort: None,
            thinking: Thinking::Default,
            response_format: None,
            native_web_tools: NativeWebTools::default(),
            cache_key: None,
            idle_timeout: None,
            raw_capture: RawCapture::Off,
        }
    }

    /// Stands for everything in the request that is sent.
    #[must_use]
    pub fn digest(&self) -> RequestDigest {
        RequestDigest::of(self)
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
