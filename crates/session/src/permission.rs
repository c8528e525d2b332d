//! Decides about tool calls: rules and mode first, then what was approved for the session, then a person.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{self, BoxFuture};
use robota_core::{
    Access, Authorization, Decision, EventKind, EventSink, GateRequest, PermissionMode, PermissionPolicy,
    PermissionResolution, RuleSet, ToolGate, Verdict,
};
use serde_json::Value;

use crate::{Conversation, ReviewDecision};

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

/// The gate of a session (seed `000`, `PermissionEnforcer`).
pub(crate) struct PermissionEnforcer {
    policy: Mutex<PermissionPolicy>,
    handler: Option<Arc<dyn PermissionHandler>>,
    /// Keeps what was approved, and the questions that are open.
    conversation: Arc<Conversation>,
    sink: Arc<dyn EventSink>,
    /// Held while a question is open.
    question: tokio::sync::Mutex<()>,
}

impl PermissionEnforcer {
    pub(crate) fn new(
        policy: PermissionPolicy,
        handler: Option<Arc<dyn PermissionHandler>>,
        conversation: Arc<Conversation>,
        sink: Arc<dyn EventSink>,
    ) -> Self {
        let question = tokio::sync::Mutex::default();
        Self { policy: Mutex::new(policy), handler, conversation, sink, question }
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.policy().mode
    }

    pub(crate) fn set_mode(&self, mode: PermissionMode) {
        self.policy().mode = mode;
    }

    fn policy(&self) -> MutexGuard<'_, PermissionPolicy> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides without a person; `Err` carries the open question.
    fn decide(&self, request: &GateRequest<'_>) -> Result<Authorization, Verdict> {
        let policy = self.policy();
        let verdict = policy.evaluate(request.spec, request.access);
        match verdict.decision {
            Decision::Allow => Ok(Authorization::Allowed),
            Decision::Deny => Ok(denied(verdict.reason, verdict.allow_rules)),
            Decision::Ask if self.is_approved(&policy, request) => Ok(Authorization::Allowed),
            Decision::Ask => Err(verdict),
        }
    }

    /// Whether the rules approved for the session cover the call. The mode has no say here.
    fn is_approved(&self, policy: &PermissionPolicy, request: &GateRequest<'_>) -> bool {
        let allow = self.conversation.approvals().rules();
        if allow.is_empty() {
            return false;
        }
        let approved = PermissionPolicy {
            mode: policy.mode,
            rules: RuleSet { allow, ..RuleSet::default() },
            roots: policy.roots.clone(),
            cwd: policy.cwd.clone(),
            home: policy.home.clone(),
            protected_dirs: policy.protected_dirs.clone(),
        };
        let verdict = approved.evaluate(request.spec, request.access);
        verdict.decision == Decision::Allow && verdict.rule.is_some()
    }

    async fn ask(&self, handler: &dyn PermissionHandler, request: &GateRequest<'_>) -> Authorization {
        let _question = self.question.lock().await;
        // The answer to the question before may have settled this one.
        let verdict = match self.decide(request) {
            Ok(settled) => return settled,
            Err(verdict) => verdict,
        };
        let allow_rules = verdict.allow_rules.clone();
        // First, so that whoever is told of the question can answer it at once.
        let decided = self.conversation.insert_pending_approval(&request.call.id);
        let question = Question::open(self.sink.as_ref(), request, &verdict);
        let asked = PermissionRequest {
            tool_name: request.call.name.clone(),
            tool_call_id: request.call.id.clone(),
            arguments: request.call.arguments.clone(),
            access: request.access.to_vec(),
            verdict,
        };
        let answer = tokio::select! {
            biased;
            decision = decided => Answer::of_decision(decision),
            answer = handler.ask(asked) => Answer::of_person(answer),
        };
        self.conversation.remove_pending_approval(&request.call.id);
        question.settle(answer.resolution);
        if answer.resolution == PermissionResolution::AllowedForSession {
            for rule in &allow_rules {
                // Only an empty text is refused, and a rule is none.
                let _ = self.conversation.add_approved_command(rule);
            }
        }
        if answer.ends_turn {
            self.conversation.request_interrupt();
        }
        match answer.refusal {
            None => Authorization::Allowed,
            Some(reason) => denied(reason, allow_rules),
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
                return denied(verdict.reason, verdict.allow_rules);
            };
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => denied(INTERRUPTED.to_owned(), Vec::new()),
                answer = self.ask(handler, &request) => answer,
            }
        })
    }
}

/// A question that the log knows of until it is settled, in whatever way.
struct Question<'a> {
    sink: &'a dyn EventSink,
    tool_call_id: &'a str,
    settled: bool,
}

impl<'a> Question<'a> {
    fn open(sink: &'a dyn EventSink, request: &GateRequest<'a>, verdict: &Verdict) -> Self {
        let call = request.call;
        let parameters =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(call.arguments.as_str()));
        sink.emit(EventKind::PermissionRequest {
            tool_name: call.name.clone(),
            tool_call_id: call.id.clone(),
            parameters,
            reason: verdict.reason.clone(),
            allow_rules: verdict.allow_rules.clone(),
        });
        Self { sink, tool_call_id: &call.id, settled: false }
    }

    fn settle(mut self, resolution: PermissionResolution) {
        self.tell(resolution);
    }

    fn tell(&mut self, resolution: PermissionResolution) {
        self.settled = true;
        let tool_call_id = self.tool_call_id.to_owned();
        self.sink.emit(EventKind::PermissionResolved { tool_call_id, resolution });
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.tell(PermissionResolution::Aborted);
        }
    }
}

/// What an answer comes to, whoever gave it.
struct Answer {
    resolution: PermissionResolution,
    /// Why the call may not run.
    refusal: Option<String>,
    ends_turn: bool,
}

impl Answer {
    fn of_person(answer: PermissionAnswer) -> Self {
        let (resolution, refusal) = match answer {
            PermissionAnswer::Allow => (PermissionResolution::Allowed, None),
            PermissionAnswer::AllowForSession | PermissionAnswer::AllowForProject => {
                (PermissionResolution::AllowedForSession, None)
            }
            PermissionAnswer::Deny { reason } => (PermissionResolution::Denied, Some(reason)),
        };
        Self { resolution, refusal, ends_turn: false }
    }

    fn of_decision(decision: ReviewDecision) -> Self {
        let refused = |resolution, reason: &str, ends_turn| Self {
            resolution,
            refusal: Some(reason.to_owned()),
            ends_turn,
        };
        match decision {
            ReviewDecision::Approved => Self::of_person(PermissionAnswer::Allow),
            ReviewDecision::ApprovedForSession => Self::of_person(PermissionAnswer::AllowForSession),
            ReviewDecision::Denied => refused(PermissionResolution::Denied, NOT_ALLOWED, false),
            ReviewDecision::Abort => refused(PermissionResolution::Aborted, INTERRUPTED, true),
        }
    }
}

/// Why a call may not run whose turn was aborted.
const INTERRUPTED: &str = "the turn was interrupted";
/// Why a call may not run that a person said no to without giving a reason.
const NOT_ALLOWED: &str = "the user did not allow this";

fn denied(reason: String, allow_rules: Vec<String>) -> Authorization {
    Authorization::Denied { reason, allow_rules }
}

#[cfg(test)]
mod tests {
    use robota_core::{Error, ToolCall, ToolClass, ToolSpec};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::ConversationOptions;

    /// Answers a question in the moment it is told of it.
    struct Prompt(Arc<Conversation>);

    impl EventSink for Prompt {
        fn emit(&self, kind: EventKind) {
            if let EventKind::PermissionRequest { tool_call_id, .. } = kind {
                self.0.notify_approval(&tool_call_id, ReviewDecision::Denied);
            }
        }

        fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
            Box::pin(future::ready(Ok(())))
        }
    }

    #[tokio::test]
    async fn a_question_can_be_answered_as_soon_as_it_is_told() {
        let conversation = Arc::new(Conversation::new(ConversationOptions::new("m", "/p")).unwrap());
        conversation.start_turn().unwrap();
        let mode = PermissionMode::Default;
        let (rules, cwd) = (RuleSet::default(), std::path::PathBuf::from("/p"));
        let (roots, protected_dirs) = (Vec::new(), Vec::new());
        let policy = PermissionPolicy { mode, rules, roots, cwd, home: None, protected_dirs };
        let (handler, sink) = (Arc::new(ExternalApproval), Arc::new(Prompt(Arc::clone(&conversation))));
        let gate = PermissionEnforcer::new(policy, Some(handler), conversation, sink);
        let call = ToolCall { id: "c1".into(), name: "Order".into(), arguments: "{}".into() };
        let (spec, cancel) = (ToolSpec::new("Order", ToolClass::Other, ""), CancellationToken::new());
        let asked = gate.authorize(GateRequest::new(&call, &spec, &[], &cancel));
        let answer = future::FutureExt::now_or_never(asked).expect("the answer is there already");
        assert_eq!(answer, denied(NOT_ALLOWED.to_owned(), vec!["Order".to_owned()]));
    }
}
