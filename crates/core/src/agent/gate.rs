//! The gate every tool call passes: what is said before it, whether it may run, and what is said of its result.

use futures_util::future::{self, BoxFuture};
use tokio_util::sync::CancellationToken;

use crate::{Access, HookPermission, ToolCall, ToolOutcome, ToolSpec};

/// A call that waits to be let through.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GateRequest<'a> {
    /// The call as it would run: with the arguments of the model, or those that were put in their place.
    pub call: &'a ToolCall,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// What the call would touch.
    pub access: &'a [Access],
    /// What [`ToolGate::before`] said of it.
    pub said: &'a Before,
    /// Fires when the turn is aborted.
    pub cancel: &'a CancellationToken,
}

/// What is said of a call before it is decided.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Before {
    /// The call does not run, for this reason.
    pub refusal: Option<String>,
    /// The arguments it shall have instead of the model's: JSON text.
    pub arguments: Option<String>,
    /// What the decision has to take into account.
    pub permission: Option<HookPermission>,
    /// Text for the model, to go with the result.
    pub context: Vec<String>,
}

/// Nothing was said.
static NOTHING: Before = Before { refusal: None, arguments: None, permission: None, context: Vec::new() };

impl<'a> GateRequest<'a> {
    /// The call `call` to the tool `spec`, which would touch `access`, and of which nothing was said.
    #[must_use]
    pub fn new(
        call: &'a ToolCall,
        spec: &'a ToolSpec,
        access: &'a [Access],
        cancel: &'a CancellationToken,
    ) -> Self {
        Self { call, spec, access, said: &NOTHING, cancel }
    }

    /// The same call, of which `said` was said.
    #[must_use]
    pub const fn with_said(mut self, said: &'a Before) -> Self {
        self.said = said;
        self
    }
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq)]
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
    /// It does not, because a hook says so; the model is told why.
    Blocked {
        /// Why, in the hook's words.
        reason: String,
    },
    /// It is to be decided once more, with the arguments and the permission in here.
    Revised(Box<Before>),
}

/// A call that has run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EndedCall<'a> {
    /// The call as it ran.
    pub call: &'a ToolCall,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// What it came to, as the model will see it.
    pub outcome: &'a ToolOutcome,
    /// Fires when the turn is aborted; it may have fired already.
    pub cancel: &'a CancellationToken,
}

impl<'a> EndedCall<'a> {
    /// The call `call` to the tool `spec`, which came to `outcome`.
    #[must_use]
    pub fn new(
        call: &'a ToolCall,
        spec: &'a ToolSpec,
        outcome: &'a ToolOutcome,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self { call, spec, outcome, cancel }
    }
}

/// What is said of a call that has run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct After {
    /// Text for the model, to go with the result.
    pub context: Vec<String>,
}

/// Stands around every tool call: rules, hooks, a person.
///
/// The engine calls the three methods in this order, and awaits each. Several calls may be at it at once. A
/// panic in [`before`](Self::before) or [`authorize`](Self::authorize) refuses the call.
pub trait ToolGate: Send + Sync {
    /// Is told of a call whose arguments fit, before it is decided.
    fn before<'a>(&'a self, _request: GateRequest<'a>) -> BoxFuture<'a, Before> {
        Box::pin(future::ready(Before::default()))
    }

    /// Decides one call.
    fn authorize<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Authorization>;

    /// Is told of a call that has run, however it ended. Calls that never ran are not told of.
    fn after<'a>(&'a self, _ended: EndedCall<'a>) -> BoxFuture<'a, After> {
        Box::pin(future::ready(After::default()))
    }
}
