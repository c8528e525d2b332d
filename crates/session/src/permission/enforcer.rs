//! The gate of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use robota_core::{
    After, Authorization, Basis, Before, Decision, EndedCall, EventSink, GateRequest, HookDecision,
    PermissionMode, PermissionPolicy, PermissionResolution, RuleSet, ToolGate, Verdict,
};

use super::answer::{Answer, INTERRUPTED};
use super::hooks::{self, reason_of};
use super::question::Question;
use super::{PermissionHandler, PermissionRequest, RuleKeeper};
use crate::Conversation;
use crate::lifecycle_hooks::LifecycleHooks;

/// The gate of a session (seed `000`, `PermissionEnforcer`).
///
/// What PreToolUse hooks refuse never gets here. Of the rest, deny rules come first, then rules, mode and approvals as the policy has them. What
/// is left open is for PermissionRequest hooks and a person to say.
pub(crate) struct PermissionEnforcer {
    policy: Arc<Mutex<PermissionPolicy>>,
    deciders: Deciders,
    /// Keeps what was approved, and the questions that are open.
    conversation: Arc<Conversation>,
    sink: Arc<dyn EventSink>,
    hooks: Arc<LifecycleHooks>,
    /// Held while a question is open.
    question: tokio::sync::Mutex<()>,
}

/// Who has a say where rules and mode leave a call open.
#[derive(Clone)]
pub(crate) struct Deciders {
    /// Who is asked.
    pub(crate) handler: Option<Arc<dyn PermissionHandler>>,
    /// Who keeps what is allowed for good.
    pub(crate) keeper: Option<Arc<dyn RuleKeeper>>,
}

/// A call that neither rules nor mode nor an approval settles.
struct Open {
    /// Why there is a question.
    verdict: Verdict,
    /// A hook may answer in the place of a person.
    hooks_may_allow: bool,
    /// A PreToolUse hook raised it, so that no rule would settle it.
    by_hook: bool,
}

impl PermissionEnforcer {
    pub(crate) fn new(
        policy: Arc<Mutex<PermissionPolicy>>,
        deciders: Deciders,
        conversation: Arc<Conversation>,
        sink: Arc<dyn EventSink>,
        hooks: Arc<LifecycleHooks>,
    ) -> Self {
        Self { policy, deciders, conversation, sink, hooks, question: tokio::sync::Mutex::default() }
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

    /// Decides without a person.
    ///
    /// A hook's consent settles only what the mode leaves open: no deny rule, no ask rule, no protection.
    fn decide(&self, request: &GateRequest<'_>) -> Result<Authorization, Open> {
        let policy = self.policy();
        let verdict = policy.evaluate(request.spec, request.access);
        let by_mode = verdict.basis == Basis::Mode;
        let said = request.said.permission.as_ref().map(|said| said.decision);
        match (verdict.decision, said) {
            (Decision::Deny, _) => Ok(denied(verdict.reason, verdict.allow_rules)),
            (_, Some(HookDecision::Deny)) => {
                let reason = request.said.permission.as_ref().map(reason_of).unwrap_or_default();
                Ok(Authorization::Blocked { reason })
            }
            (_, Some(HookDecision::Defer)) => Err(Open {
                verdict: raised(verdict, request, "deferred this call to a person"),
                hooks_may_allow: false,
                by_hook: true,
            }),
            (Decision::Ask, Some(HookDecision::Allow)) if by_mode => Ok(Authorization::Allowed),
            (Decision::Allow, None | Some(HookDecision::Allow)) => Ok(Authorization::Allowed),
            _ if self.is_approved(&policy, request, &verdict) => Ok(Authorization::Allowed),
            (decision, Some(HookDecision::Ask)) => {
                let hooks_may_allow = by_mode || decision == Decision::Allow;
                let verdict = raised(verdict, request, "wants a person to agree");
                Err(Open { verdict, hooks_may_allow, by_hook: true })
            }
            _ => Err(Open { verdict, hooks_may_allow: by_mode, by_hook: false }),
        }
    }

    /// Whether what was approved for the session settles the question. The mode has no say here, and over an
    /// ask rule nothing has that is approved once and for all.
    fn is_approved(&self, policy: &PermissionPolicy, request: &GateRequest<'_>, verdict: &Verdict) -> bool {
        if verdict.decision == Decision::Ask && verdict.basis == Basis::Rule {
            return false;
        }
        let mut allow = self.conversation.approvals().rules();
        if allow.is_empty() {
            return false;
        }
        if verdict.decision == Decision::Ask {
            // Of a command line, approvals may cover one part and rules another.
            allow.extend(policy.rules.allow.iter().cloned());
        }
        let approved = PermissionPolicy {
            mode: policy.mode,
            rules: RuleSet { allow, ..RuleSet::default() },
            roots: policy.roots.clone(),
            cwd: policy.cwd.clone(),
            home: policy.home.clone(),
            protected_dirs: policy.protected_dirs.clone(),
            confinement: None,
        };
        let verdict = approved.evaluate(request.spec, request.access);
        verdict.decision == Decision::Allow && verdict.rule.is_some()
    }

    /// Settles what is open: hooks first, which need not wait for the questions of other calls.
    async fn settle(&self, request: GateRequest<'_>, open: Open) -> Authorization {
        let answered = hooks::answer(&self.hooks, request, &open.verdict, open.hooks_may_allow).await;
        if let Some(answered) = answered {
            return answered;
        }
        match self.deciders.handler.as_deref() {
            Some(handler) => self.ask(handler, request).await,
            None if open.by_hook => denied(open.verdict.reason, Vec::new()),
            None => denied(open.verdict.reason, open.verdict.allow_rules),
        }
    }

    async fn ask(&self, handler: &dyn PermissionHandler, request: GateRequest<'_>) -> Authorization {
        let _question = self.question.lock().await;
        // The answer to the question before may have settled this one.
        let verdict = match self.decide(&request) {
            Ok(settled) => return settled,
            Err(open) => open.verdict,
        };
        let allow_rules = verdict.allow_rules.clone();
        // First, so that whoever is told of the question can answer it at once.
        let decided = self.conversation.insert_pending_approval(&request.call.id);
        let question = Question::open(self.sink.as_ref(), &request, &verdict);
        hooks::notify(&self.hooks, &request.call.name, request.cancel);
        let asked = PermissionRequest {
            tool_name: request.call.name.clone(),
            tool_call_id: request.call.id.clone(),
            arguments: request.call.arguments.clone(),
            access: request.access.to_vec(),
            can_keep: self.deciders.keeper.is_some() && !allow_rules.is_empty(),
            verdict,
        };
        let mut answer = tokio::select! {
            biased;
            decision = decided => Answer::of_decision(decision),
            answer = handler.ask(asked) => Answer::of_person(answer),
        };
        self.conversation.remove_pending_approval(&request.call.id);
        let note = self.remember(&mut answer, &allow_rules).await;
        question.settle(answer.resolution, note);
        if answer.ends_turn {
            self.conversation.request_interrupt();
        }
        match answer.refusal {
            None => Authorization::Allowed,
            Some(reason) => denied(reason, allow_rules),
        }
    }

    /// Approves what the answer allows from now on, and keeps it where it is for good. What cannot be kept
    /// lasts as long as the session, and without rules nothing is more than this once. Gives what a person
    /// should know of it.
    async fn remember(&self, answer: &mut Answer, rules: &[String]) -> Option<String> {
        use PermissionResolution::{Allowed, AllowedForProject, AllowedForSession};
        if !matches!(answer.resolution, AllowedForSession | AllowedForProject) {
            return None;
        }
        if rules.is_empty() {
            answer.resolution = Allowed;
            return None;
        }
        for rule in rules {
            // Only an empty text is refused, and a rule is none.
            let _ = self.conversation.add_approved_command(rule);
        }
        if answer.resolution != AllowedForProject {
            return None;
        }
        let kept = match &self.deciders.keeper {
            Some(keeper) => keeper.keep(rules).await.map_err(|error| error.to_string()),
            None => Err("nobody keeps rules for this project".to_owned()),
        };
        let rules = rules.join("`, `");
        Some(match kept {
            Ok(place) => format!("`{rules}` stands in {place} now"),
            Err(why) => {
                answer.resolution = AllowedForSession;
                format!("`{rules}` could not be kept and lasts until the session ends: {why}")
            }
        })
    }
}

impl ToolGate for PermissionEnforcer {
    fn before<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Before> {
        Box::pin(hooks::before(&self.hooks, request))
    }

    fn authorize<'a>(&'a self, request: GateRequest<'a>) -> BoxFuture<'a, Authorization> {
        Box::pin(async move {
            let open = match self.decide(&request) {
                Ok(decided) => return decided,
                Err(open) => open,
            };
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => denied(INTERRUPTED.to_owned(), Vec::new()),
                settled = self.settle(request, open) => settled,
            }
        })
    }

    fn after<'a>(&'a self, ended: EndedCall<'a>) -> BoxFuture<'a, After> {
        Box::pin(hooks::after(&self.hooks, ended))
    }
}

/// The question that a PreToolUse hook raises, on top of the one there may be already.
fn raised(verdict: Verdict, request: &GateRequest<'_>, what: &str) -> Verdict {
    let why = request.said.permission.as_ref().map(reason_of).unwrap_or_default();
    let mut raised = verdict;
    let already = (raised.decision == Decision::Ask).then_some(raised.reason);
    raised.reason = format!("A PreToolUse hook {what}: {why}");
    if let Some(already) = already {
        raised.reason = format!("{} ({already})", raised.reason);
    }
    raised.decision = Decision::Ask;
    raised
}

fn denied(reason: String, allow_rules: Vec<String>) -> Authorization {
    Authorization::Denied { reason, allow_rules }
}

#[cfg(test)]
mod tests {
    use futures_util::future;
    use robota_core::{Error, EventKind, SessionId, ToolCall, ToolClass, ToolSpec};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::lifecycle_hooks::HookFacts;
    use crate::permission::answer::NOT_ALLOWED;
    use crate::{ConversationOptions, ExternalApproval, ReviewDecision};

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
        let policy = PermissionPolicy {
            mode,
            rules,
            roots: Vec::new(),
            cwd: cwd.clone(),
            home: None,
            protected_dirs: Vec::new(),
            confinement: None,
        };
        let policy = Arc::new(Mutex::new(policy));
        let sink: Arc<dyn EventSink> = Arc::new(Prompt(Arc::clone(&conversation)));
        let session_id: SessionId = "s".parse().unwrap();
        let told = HookFacts { session_id, cwd, transcript: None };
        let hooks = Arc::new(LifecycleHooks::new(None, told, Arc::clone(&policy), Arc::clone(&sink)));
        let deciders = Deciders { handler: Some(Arc::new(ExternalApproval)), keeper: None };
        let gate = PermissionEnforcer::new(policy, deciders, conversation, sink, hooks);
        let call = ToolCall { id: "c1".into(), name: "Order".into(), arguments: "{}".into() };
        let (spec, cancel) = (ToolSpec::new("Order", ToolClass::Other, ""), CancellationToken::new());
        let asked = gate.authorize(GateRequest::new(&call, &spec, &[], &cancel));
        let answer = future::FutureExt::now_or_never(asked).expect("the answer is there already");
        assert_eq!(answer, denied(NOT_ALLOWED.to_owned(), vec!["Order".to_owned()]));
    }
}
