//! Decides about tool calls: rules and mode first, then what was approved for the session, then a person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use robota_core::{
    Access, Authorization, Decision, GateRequest, PermissionMode, PermissionPolicy, Rule, RuleSet, ToolGate,
    Verdict,
};

/// A call about which a person is asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// The arguments as the model wrote them: JSON text.
    pub arguments: String,
    /// What the call would touch.
    pub access: Vec<Access>,
    /// Why there is a question, and the narrow rule that would settle it for good.
    pub verdict: Verdict,
}

/// What the person says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionAnswer {
    /// It may run, this once.
    Allow,
    /// It may run, and so may whatever the rule in
    /// [`verdict.allow_rule`](robota_core::Verdict::allow_rule) covers, until the session ends. Where
    /// no rule can be narrow enough, this once.
    AllowForSession,
    /// It may not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
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

/// The gate of a session (seed `000`, `PermissionEnforcer`).
pub(crate) struct PermissionEnforcer {
    rules: Mutex<Rules>,
    handler: Option<Arc<dyn PermissionHandler>>,
    /// Held while a question is open.
    question: tokio::sync::Mutex<()>,
}

struct Rules {
    policy: PermissionPolicy,
    /// Approved for the session, by text.
    approved: BTreeMap<String, Rule>,
}

impl PermissionEnforcer {
    pub(crate) fn new(policy: PermissionPolicy, handler: Option<Arc<dyn PermissionHandler>>) -> Self {
        let rules = Rules { policy, approved: BTreeMap::new() };
        Self { rules: Mutex::new(rules), handler, question: tokio::sync::Mutex::default() }
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.lock().policy.mode
    }

    pub(crate) fn set_mode(&self, mode: PermissionMode) {
        self.lock().policy.mode = mode;
    }

    pub(crate) fn approved(&self) -> Vec<String> {
        self.lock().approved.keys().cloned().collect()
    }

    pub(crate) fn clear_approved(&self) {
        self.lock().approved.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides without a person; `Err` carries the open question.
    fn decide(&self, request: &GateRequest<'_>) -> Result<Authorization, Verdict> {
        let rules = self.lock();
        let verdict = rules.policy.evaluate(request.spec, request.access);
        match verdict.decision {
            Decision::Allow => Ok(Authorization::Allowed),
            Decision::Deny => Ok(denied(verdict.reason, verdict.allow_rule)),
            Decision::Ask if rules.approve(request) => Ok(Authorization::Allowed),
            Decision::Ask => Err(verdict),
        }
    }

    async fn ask(&self, handler: &dyn PermissionHandler, request: &GateRequest<'_>) -> Authorization {
        let _question = self.question.lock().await;
        // The answer to the question before may have settled this one.
        let verdict = match self.decide(request) {
            Ok(settled) => return settled,
            Err(verdict) => verdict,
        };
        let allow_rule = verdict.allow_rule.clone();
        let asked = PermissionRequest {
            tool_name: request.call.name.clone(),
            tool_call_id: request.call.id.clone(),
            arguments: request.call.arguments.clone(),
            access: request.access.to_vec(),
            verdict,
        };
        match handler.ask(asked).await {
            PermissionAnswer::Allow => Authorization::Allowed,
            PermissionAnswer::AllowForSession => {
                if let Some(text) = allow_rule
                    && let Ok(rule) = text.parse()
                {
                    self.lock().approved.insert(text, rule);
                }
                Authorization::Allowed
            }
            PermissionAnswer::Deny { reason } => denied(reason, allow_rule),
        }
    }
}

impl ToolGate for PermissionEnforcer {
    fn authorize<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        Box::pin(async move {
            let verdict = match self.decide(&request) {
                Ok(decided) => return decided,
                Err(verdict) => verdict,
            };
            let Some(handler) = self.handler.as_deref() else {
                return denied(verdict.reason, verdict.allow_rule);
            };
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => denied("the turn was interrupted".to_owned(), None),
                answer = self.ask(handler, &request) => answer,
            }
        })
    }
}

impl Rules {
    /// Whether the rules approved for the session cover the call. The mode has no say here.
    fn approve(&self, request: &GateRequest<'_>) -> bool {
        if self.approved.is_empty() {
            return false;
        }
        let approved = PermissionPolicy {
            mode: self.policy.mode,
            rules: RuleSet { allow: self.approved.values().cloned().collect(), ..RuleSet::default() },
            roots: self.policy.roots.clone(),
            cwd: self.policy.cwd.clone(),
            home: self.policy.home.clone(),
        };
        let verdict = approved.evaluate(request.spec, request.access);
        verdict.decision == Decision::Allow && verdict.rule.is_some()
    }
}

fn denied(reason: String, allow_rule: Option<String>) -> Authorization {
    Authorization::Denied { reason, allow_rule }
}
