//! The hooks of one session: what they are told, and what of their answers concerns the whole turn.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use robota_core::{
    CompactTrigger, EventKind, EventSink, HookCall, HookInput, HookOutcome, HookRunner, PermissionPolicy,
    SessionId,
};
use tokio_util::sync::CancellationToken;

/// The hooks of one session (seed `000`, Hook Lifecycle). Without a runner they cost nothing.
pub(crate) struct LifecycleHooks {
    runner: Option<Arc<dyn HookRunner>>,
    facts: HookFacts,
    /// For the mode in force.
    policy: Arc<Mutex<PermissionPolicy>>,
    sink: Arc<dyn EventSink>,
    /// Why the turn shall end, or the next one shall not begin.
    stop: Mutex<Option<String>>,
}

/// What hooks are told of their session.
pub(crate) struct HookFacts {
    pub(crate) session_id: SessionId,
    pub(crate) cwd: PathBuf,
    /// Where its log is.
    pub(crate) transcript: Option<String>,
}

impl LifecycleHooks {
    pub(crate) fn new(
        runner: Option<Arc<dyn HookRunner>>,
        facts: HookFacts,
        policy: Arc<Mutex<PermissionPolicy>>,
        sink: Arc<dyn EventSink>,
    ) -> Self {
        Self { runner, facts, policy, sink, stop: Mutex::default() }
    }

    /// Whether there is anybody to tell.
    pub(crate) const fn listen(&self) -> bool {
        self.runner.is_some()
    }

    /// Runs the hooks for `call`, and records what they had to say. An abort ends the wait for them; they have
    /// then said nothing.
    pub(crate) async fn fire(&self, call: HookCall, cancel: &CancellationToken) -> HookOutcome {
        if !self.listen() {
            return HookOutcome::default();
        }
        let input = self.input(call);
        let outcome = self.guarded(&input, cancel).await;
        if !outcome.is_empty() {
            self.sink.emit(EventKind::of_hooks(input.call.name(), &outcome));
        }
        outcome
    }

    /// What hooks are told when `call` happens.
    pub(crate) fn input(&self, call: HookCall) -> HookInput {
        let mode = self.policy.lock().unwrap_or_else(PoisonError::into_inner).mode;
        let HookFacts { session_id, cwd, transcript } = &self.facts;
        let mut input = HookInput::new(session_id.clone(), cwd.clone(), mode, call);
        input.transcript_path.clone_from(transcript);
        input
    }

    /// Whether a hook has ended the turn.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop().is_some()
    }

    /// Why a hook has ended the turn; it has had its effect now.
    pub(crate) fn take_stop(&self) -> Option<String> {
        self.stop().take()
    }

    fn stop(&self) -> MutexGuard<'_, Option<String>> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the hooks, whose crash is not the session's.
    async fn guarded(&self, input: &HookInput, cancel: &CancellationToken) -> HookOutcome {
        let Some(runner) = &self.runner else { return HookOutcome::default() };
        let running = AssertUnwindSafe(async { runner.run(input, cancel).await }).catch_unwind();
        let ended = tokio::select! {
            biased;
            ended = running => ended,
            () = cancel.cancelled() => Ok(HookOutcome::default()),
        };
        let outcome = ended.unwrap_or_else(|_| crashed(&input.call));
        if let Some(reason) = outcome.stop.as_ref().filter(|_| may_end_a_turn(&input.call)) {
            self.stop().get_or_insert_with(|| reason.clone());
        }
        outcome
    }
}

/// For whoever records by itself what hooks say.
impl HookRunner for LifecycleHooks {
    fn run<'a>(&'a self, input: &'a HookInput, cancel: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        Box::pin(self.guarded(input, cancel))
    }
}

/// What is made of hooks whose runner has crashed: what only they could have let through does not happen.
fn crashed(call: &HookCall) -> HookOutcome {
    let what = format!("what runs the {} hooks crashed, which is a defect of it", call.name());
    let mut outcome = HookOutcome::default();
    outcome.block = matches!(call, HookCall::PreToolUse { .. }).then(|| what.clone());
    outcome.failures.push(what);
    outcome
}

/// Whether `continue: false` has a turn to end. A compaction that a person asks for is in none.
const fn may_end_a_turn(call: &HookCall) -> bool {
    match call {
        HookCall::PreCompact { trigger, .. } | HookCall::PostCompact { trigger, .. } => {
            matches!(trigger, CompactTrigger::Auto)
        }
        HookCall::SessionStart { .. }
        | HookCall::UserPromptSubmit { .. }
        | HookCall::PreToolUse { .. }
        | HookCall::PostToolUse { .. }
        | HookCall::PostToolUseFailure { .. }
        | HookCall::PermissionRequest { .. }
        | HookCall::Stop { .. } => true,
        _ => false,
    }
}
