//! What a compaction is asked for, and who has a say in it.

use std::fmt;

use robota_core::{CompactTrigger, EventKind, EventSink, HookCall, HookInput, HookOutcome, HookRunner};
use tokio_util::sync::CancellationToken;

use super::AutoCompactThreshold;

/// What a compaction is asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompactionRequest {
    /// What asks.
    pub trigger: CompactTrigger,
    /// The share of the window to come under; with `None`, smaller is enough.
    pub goal: Option<AutoCompactThreshold>,
    /// What the summary should pay attention to; empty for nothing in particular.
    pub instructions: String,
    /// Bytes of the message that is about to be added, such as the next prompt.
    pub coming_bytes: u64,
}

impl CompactionRequest {
    /// Asked for by a person: the last exchange stays as it was where it fits, and the rest is summarised.
    #[must_use]
    pub const fn manual() -> Self {
        Self { trigger: CompactTrigger::Manual, goal: None, instructions: String::new(), coming_bytes: 0 }
    }

    /// Asked for by a session that needs room: at least half of the history is summarised, and where that
    /// is not enough to come under `goal`, all of it but the prompts of the request in progress.
    #[must_use]
    pub const fn automatic(goal: Option<AutoCompactThreshold>) -> Self {
        Self { trigger: CompactTrigger::Auto, goal, instructions: String::new(), coming_bytes: 0 }
    }

    /// The same request with something more for the summary to pay attention to. Blank text changes nothing.
    #[must_use]
    pub fn with_instructions(mut self, instructions: &str) -> Self {
        let instructions = instructions.trim();
        if !self.instructions.is_empty() && !instructions.is_empty() {
            self.instructions.push_str("\n\n");
        }
        self.instructions.push_str(instructions);
        self
    }

    /// The same request with a message of `bytes` about to be added.
    #[must_use]
    pub const fn with_coming_bytes(mut self, bytes: u64) -> Self {
        self.coming_bytes = bytes;
        self
    }
}

/// The hooks of a session, as far as a compaction needs them.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CompactionHooks<'a> {
    runner: &'a dyn HookRunner,
    input: &'a (dyn Fn(HookCall) -> HookInput + Send + Sync),
}

impl<'a> CompactionHooks<'a> {
    /// Hooks that `runner` runs; `input` adds to a call what hooks are told of the session.
    #[must_use]
    pub const fn new(
        runner: &'a dyn HookRunner,
        input: &'a (dyn Fn(HookCall) -> HookInput + Send + Sync),
    ) -> Self {
        Self { runner, input }
    }

    /// Runs the hooks of `call`, and records what they say. An abort ends the wait for them; they have then
    /// said nothing.
    pub(super) async fn run(
        &self,
        call: HookCall,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let name = call.name();
        let input = (self.input)(call);
        let outcome = tokio::select! {
            biased;
            outcome = self.runner.run(&input, cancel) => outcome,
            () = cancel.cancelled() => HookOutcome::default(),
        };
        if !outcome.is_empty() {
            sink.emit(EventKind::of_hooks(name, &outcome));
        }
        outcome
    }
}

impl fmt::Debug for CompactionHooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactionHooks").finish_non_exhaustive()
    }
}
