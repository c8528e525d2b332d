//! Where the lifecycle of a session meets its hooks (seed `000`, Hook Lifecycle).

use std::sync::atomic::Ordering;
use std::time::Duration;

use robota_core::{HookCall, HookOutcome, SessionSource};
use tokio_util::sync::CancellationToken;

use super::Session;

/// How long hooks of an end may take, all together.
const LAST_HOOKS: Duration = Duration::from_secs(60);

/// Longest `response` that a Stop hook is told, in characters (facts sheet 2.7).
const RESPONSE: usize = 500;

impl Session {
    /// What the SessionStart hooks said when the session was made or opened: nobody could subscribe before.
    #[must_use]
    pub fn said_at_start(&self) -> Option<&HookOutcome> {
        self.said_at_start.get()
    }

    /// Tells hooks of an end, when no turn is left whose abort could end them: they have a deadline.
    pub(super) async fn fire_last(&self, call: HookCall) {
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        let name = call.name();
        if tokio::time::timeout(LAST_HOOKS, self.hooks.fire(call, &cancel)).await.is_err() {
            tracing::warn!(session = %self.id, hook = name, "hooks did not end in time");
        }
    }

    /// Tells hooks that a session was made or opened.
    pub(super) async fn fire_opened(&self, source: SessionSource) {
        let cancel = CancellationToken::new();
        let _on_drop = cancel.clone().drop_guard();
        let outcome = self.fire_start(source, &cancel).await;
        if !outcome.is_empty() {
            self.said_at_start.get_or_init(|| outcome);
        }
    }

    /// Tells hooks that the session begins, or begins anew. What they add is for the next prompt.
    pub(super) async fn fire_start(&self, source: SessionSource, cancel: &CancellationToken) -> HookOutcome {
        let outcome = self.hooks.fire(HookCall::SessionStart { source }, cancel).await;
        super::lock(&self.waiting_context).extend(outcome.additional_context.iter().cloned());
        outcome
    }

    /// Tells hooks that the history was cleared, if it was since they were last told.
    pub(super) async fn fire_cleared(&self, cancel: &CancellationToken) {
        if self.cleared.swap(false, Ordering::Relaxed) {
            self.fire_start(SessionSource::Clear, cancel).await;
        }
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
