//! Where the lifecycle of a session meets its hooks (seed `000`, Hook Lifecycle).

use std::time::Duration;

use robota_core::{EventKind, EventSink, HookCall, HookInput, HookOutcome, SessionSource};
use tokio_util::sync::CancellationToken;

use super::Session;

/// How long hooks of an end may take, all together.
const LAST_HOOKS: Duration = Duration::from_secs(60);

/// Longest `response` that a Stop hook is told, in characters (facts sheet 2.7).
const RESPONSE: usize = 500;

impl Session {
    /// Runs the hooks for `call`, and records what they had to say. Without hooks it costs nothing.
    pub(super) async fn fire(&self, call: HookCall, cancel: &CancellationToken) -> HookOutcome {
        let Some(hooks) = &self.facts.hooks else { return HookOutcome::default() };
        let name = call.name();
        let input = self.hook_input(call);
        let outcome = tokio::select! {
            biased;
            outcome = hooks.run(&input, cancel) => outcome,
            () = cancel.cancelled() => HookOutcome::default(),
        };
        if !outcome.is_empty() {
            self.journal.emit(EventKind::of_hooks(name, &outcome));
        }
        outcome
    }

    /// Tells hooks of an end, when no turn is left whose abort could end them: they have a deadline.
    pub(super) async fn fire_last(&self, call: HookCall) {
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        let name = call.name();
        if tokio::time::timeout(LAST_HOOKS, self.fire(call, &cancel)).await.is_err() {
            tracing::warn!(session = %self.id, hook = name, "hooks did not end in time");
        }
    }

    /// What hooks are told when `call` happens.
    pub(super) fn hook_input(&self, call: HookCall) -> HookInput {
        let mut input = HookInput::new(self.id.clone(), self.facts.cwd.clone(), self.permission_mode(), call);
        input.transcript_path.clone_from(&self.facts.log_location);
        input
    }

    /// Tells hooks that the session has begun. What they add is for the first prompt.
    pub(super) async fn fire_start(&self, source: SessionSource) {
        let outcome = self.fire(HookCall::SessionStart { source }, &CancellationToken::new()).await;
        super::lock(&self.waiting_context).extend(outcome.additional_context);
    }
}

/// What a Stop hook is told of the answer `text`.
pub(super) fn stop_call(text: &str, stop_hook_active: bool) -> HookCall {
    HookCall::Stop {
        response: text.chars().take(RESPONSE).collect(),
        last_assistant_message: text.to_owned(),
        stop_hook_active,
    }
}
