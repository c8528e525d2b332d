//! The provider port: what a model API must offer, and nothing about any one of them.

mod definition;
mod digest;
mod error;
mod event;
mod recorded;
mod request;
mod tuning;
mod web_tools;

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

pub use definition::{ProviderCategory, ProviderDefinition};
pub use digest::RequestDigest;
pub use error::{ProviderError, ProviderErrorKind};
pub use event::{Citation, FinishReason, ModelEvent};
pub use recorded::{RecordedAnswer, RecordedFailure};
pub use request::{ModelRequest, RawCapture, ToolChoice};
pub use tuning::{Effort, ResponseFormat, Thinking, UnknownEffort};
pub use web_tools::{NativeWebTool, NativeWebTools, NativeWebToolsReport};

/// What a provider states about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// Stable short id, such as `anthropic`; marks the thinking blocks it wrote.
    pub id: String,
    /// Upper bounds of what it can do.
    pub capabilities: Capabilities,
}

impl ProviderInfo {
    /// A provider called `id` with `capabilities`.
    #[must_use]
    pub fn new(id: impl Into<String>, capabilities: Capabilities) -> Self {
        Self { id: id.into(), capabilities }
    }
}

/// What a provider can do at most; a model may do less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct Capabilities {
    /// Calls tools.
    pub tools: bool,
    /// Reads images.
    pub images: bool,
    /// Reads documents, such as PDF files.
    pub documents: bool,
    /// Streams its thinking.
    pub thinking: bool,
    /// Keeps to a [`ResponseFormat`].
    pub structured_output: bool,
}

/// The events of one model call, in order. Ends after [`ModelEvent::Finish`] or the first error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A model API.
///
/// An implementation keeps no conversation: every request carries all it needs. Dropping the
/// stream, or cancelling the token, closes the connection.
pub trait Provider: Send + Sync {
    /// Id and capabilities.
    fn info(&self) -> &ProviderInfo;

    /// Which of the `wanted` web tools the provider itself runs for `model`, where its setup lets it (seed `000`,
    /// Provider-native web configuration). Sessions ask at their construction, and request what is enabled with
    /// [`ModelRequest::native_web_tools`].
    fn configure_native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        let _ = (model, wanted);
        NativeWebToolsReport::unsupported()
    }

    /// Starts one model call.
    ///
    /// Malformed tool arguments are no error: they arrive as written in
    /// [`ModelEvent::ToolCallArguments`]. An idle connection ends with
    /// [`ProviderErrorKind::Timeout`]; the idle time, [`ModelRequest::idle_timeout`] or the provider's own,
    /// restarts with every byte the server sends.
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;
}
