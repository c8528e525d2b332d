//! Decides about tool calls: PreToolUse hooks are heard first; then rules and mode, what was approved for the
//! session, PermissionRequest hooks, a person.

mod answer;
mod enforcer;
mod hooks;
mod question;

use futures_util::future::{self, BoxFuture};
use robota_core::{Access, Verdict};

pub(crate) use self::enforcer::{Deciders, PermissionEnforcer};

/// A call about which a person is asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// The arguments the call would run with: JSON text. Those of the model, unless a hook has put others in
    /// their place.
    pub arguments: String,
    /// What the call would touch.
    pub access: Vec<Access>,
    /// Why there is a question, and the narrow rules that would settle it for good.
    pub verdict: Verdict,
    /// Whether [`PermissionAnswer::AllowForProject`] can be kept: there are rules, and somebody who keeps them.
    pub can_keep: bool,
}

/// What the person says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionAnswer {
    /// It may run, this once.
    Allow,
    /// It may run, and so may whatever the rule in
    /// [`verdict.allow_rules`](robota_core::Verdict::allow_rules) covers, until the session ends. Where
    /// no rule can be narrow enough, this once.
    AllowForSession,
    /// It may run, and [`verdict.allow_rules`](robota_core::Verdict::allow_rules) are kept for the project
    /// by the session's [`RuleKeeper`]. Without a keeper, or when it fails, the same as
    /// [`AllowForSession`](Self::AllowForSession).
    AllowForProject,
    /// It may not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// Keeps rules that a person allows for good: "always for this project".
pub trait RuleKeeper: Send + Sync {
    /// Adds allow rules to those of the project, and says where they stand now, for a person.
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, robota_core::Error>>;
}

/// Asks a person about tool calls (seed `000`, `permissionHandler`).
///
/// One question is open at a time. When the turn is aborted, the future is dropped.
pub trait PermissionHandler: Send + Sync {
    /// Asks about one call.
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer>;
}

impl<F> PermissionHandler for F
where
    F: Fn(PermissionRequest) -> BoxFuture<'static, PermissionAnswer> + Send + Sync,
{
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        self(request)
    }
}

/// Lets programs decide that answer with [`Session::notify_approval`](crate::Session::notify_approval):
/// it waits for them, until the turn is aborted.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing in it")]
pub struct ExternalApproval;

impl PermissionHandler for ExternalApproval {
    fn ask(&self, _: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(future::pending())
    }
}
