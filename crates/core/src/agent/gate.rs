//! The gate every tool call passes before it runs.

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Access, ToolCall, ToolSpec};

/// A call that waits to be let through.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GateRequest<'a> {
    /// The call as the model wrote it.
    pub call: &'a ToolCall,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// What the call would touch.
    pub access: &'a [Access],
    /// Fires when the turn is aborted.
    pub cancel: &'a CancellationToken,
}

impl<'a> GateRequest<'a> {
    /// The call `call` to the tool `spec`, which would touch `access`.
    #[must_use]
    pub fn new(
        call: &'a ToolCall,
        spec: &'a ToolSpec,
        access: &'a [Access],
        cancel: &'a CancellationToken,
    ) -> Self {
        Self { call, spec, access, cancel }
    }
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization {
    /// It runs.
    Allowed,
    /// It does not; the model is told why.
    Denied {
        /// Why, for a person and for the model.
        reason: String,
        /// The rules that would allow it, all together; empty where rules cannot or should not.
        allow_rules: Vec<String>,
    },
}

/// Decides whether calls may run: rules, hooks, a person.
pub trait ToolGate: Send + Sync {
    /// Decides one call. Several may be asked at once.
    fn authorize<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Authorization>;
}
