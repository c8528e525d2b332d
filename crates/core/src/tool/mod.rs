//! The tool port: typed for authors, erased for hosts.

mod access;
mod erased;
mod outcome;
mod repair;
mod spec;
mod spill;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

pub use access::{Access, PathAccess};
pub use erased::{DynTool, InvalidArguments, PreparedCall, erase};
pub use outcome::{FatalToolError, ToolOutcome, ToolResult};
pub use repair::{MalformedArguments, read_arguments};
pub use spec::{Spellings, ToolClass, ToolSpec};
pub use spill::{OutputSpill, SpillFile};

/// A tool, as its author writes it.
///
/// The doc comments of `Input` become the descriptions of the schema the model sees, so every
/// word in them is paid for in every request.
pub trait Tool: Send + Sync + 'static {
    /// The arguments.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    /// Name, description, class and safety; the schema is filled in from `Input`.
    fn describe(&self) -> ToolSpec;

    /// What this call would touch, for the permission check.
    ///
    /// Paths are resolved here, so that what is checked is what [`Tool::run`] then uses.
    fn access(&self, input: &Self::Input) -> Vec<Access>;

    /// Does the work. The host budgets the output and answers to the model.
    ///
    /// A failure the model can act on is an `Ok` outcome with `is_error`; an `Err` stops the turn.
    /// When `context.cancel` fires, the tool ends soon and leaves nothing running.
    fn run(
        self: Arc<Self>,
        input: Self::Input,
        context: ToolContext,
    ) -> impl Future<Output = ToolResult> + Send;
}

/// What a running tool gets from its host.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// Id of the call, as in the history.
    pub call_id: Arc<str>,
    /// Fires when the turn is aborted.
    pub cancel: CancellationToken,
    progress: Option<Progress>,
    spill: Option<Arc<dyn OutputSpill>>,
}

type Progress = Arc<dyn Fn(&str) + Send + Sync>;

impl ToolContext {
    /// A context for the call `call_id`, without a listener for progress.
    #[must_use]
    pub fn new(call_id: impl Into<Arc<str>>, cancel: CancellationToken) -> Self {
        Self { call_id: call_id.into(), cancel, progress: None, spill: None }
    }

    /// The same context with a listener for output that appears while the tool runs.
    #[must_use]
    pub fn with_progress(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(listener));
        self
    }

    /// The same context with a place for output that a result has no room for.
    #[must_use]
    pub fn with_spill(mut self, spill: Option<Arc<dyn OutputSpill>>) -> Self {
        self.spill = spill;
        self
    }

    /// Where output goes that the result has no room for; `None` when the host keeps none.
    #[must_use]
    pub fn spill(&self) -> Option<&Arc<dyn OutputSpill>> {
        self.spill.as_ref()
    }

    /// Shows output that appeared just now to whoever watches; the model does not see it.
    pub fn progress(&self, text: &str) {
        if let Some(listener) = &self.progress {
            listener(text);
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext").field("call_id", &self.call_id).finish_non_exhaustive()
    }
}
