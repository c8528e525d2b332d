//! Hooks whose answers are known beforehand.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use robota_core::{HookCall, HookInput, HookOutcome, HookRunner};
use tokio_util::sync::CancellationToken;

use crate::Gate;

/// Hooks that say what a test tells them to, and remember what they were told.
///
/// Answers belong to an event, by its [name](HookCall::name): those of [`answer`](Self::answer) are given in
/// order, one each time the event happens; after them, and where there are none, the one of
/// [`always`](Self::always). Events without any get the empty outcome.
///
/// ```
/// use robota_core::HookOutcome;
/// use robota_testkit::ScriptedHooks;
///
/// let hooks = ScriptedHooks::new()
///     .always("SessionStart", HookOutcome::context("The build is broken."))
///     .answer("Stop", HookOutcome::blocked("Run the tests first."));
/// ```
#[derive(Default)]
pub struct ScriptedHooks {
    scripts: Mutex<BTreeMap<String, EventScript>>,
    inputs: Mutex<Vec<HookInput>>,
}

/// What happens when one event does.
#[derive(Clone, Debug, Default)]
struct EventScript {
    answers: VecDeque<HookOutcome>,
    always: HookOutcome,
    hold_at: Option<Gate>,
}

impl ScriptedHooks {
    /// Hooks that have nothing to say.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same hooks with one more answer for `event`, such as `UserPromptSubmit`.
    #[must_use]
    pub fn answer(self, event: &str, outcome: HookOutcome) -> Self {
        self.with(event, |script| script.answers.push_back(outcome))
    }

    /// The same hooks, giving `outcome` whenever `event` happens and no other answer is left for it.
    #[must_use]
    pub fn always(self, event: &str, outcome: HookOutcome) -> Self {
        self.with(event, |script| script.always = outcome)
    }

    /// The same hooks, answering `event` only after `gate` was opened, as a slow command would. When the
    /// token fires meanwhile, they end with the empty outcome.
    #[must_use]
    pub fn hold_at(self, event: &str, gate: Gate) -> Self {
        self.with(event, |script| script.hold_at = Some(gate))
    }

    fn with(self, event: &str, change: impl FnOnce(&mut EventScript)) -> Self {
        change(self.scripts().entry(event.to_owned()).or_default());
        self
    }

    /// What they were told, in order; the input of a run that is still held is among it.
    #[must_use]
    pub fn inputs(&self) -> Vec<HookInput> {
        self.told().clone()
    }

    /// The same without the session around each.
    #[must_use]
    pub fn calls(&self) -> Vec<HookCall> {
        self.told().iter().map(|input| input.call.clone()).collect()
    }

    /// The names of the events that have happened, in order.
    #[must_use]
    pub fn events(&self) -> Vec<&'static str> {
        self.told().iter().map(|input| input.call.name()).collect()
    }

    fn scripts(&self) -> MutexGuard<'_, BTreeMap<String, EventScript>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Vec<HookInput>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HookRunner for ScriptedHooks {
    fn run<'a>(&'a self, input: &'a HookInput, cancel: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        async move {
            self.told().push(input.clone());
            let (outcome, gate) = match self.scripts().get_mut(input.call.name()) {
                Some(script) => {
                    let next = script.answers.pop_front();
                    (next.unwrap_or_else(|| script.always.clone()), script.hold_at.clone())
                }
                None => return HookOutcome::default(),
            };
            let Some(gate) = gate else { return outcome };
            let passed = cancel.run_until_cancelled(gate.pass()).await;
            passed.map_or_else(HookOutcome::default, |()| outcome)
        }
        .boxed()
    }
}

impl fmt::Debug for ScriptedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedHooks").field("events", &self.events()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{PermissionMode, SessionSource};

    use super::*;

    fn happens(call: HookCall) -> HookInput {
        HookInput::new("s1".parse().unwrap(), "/p", PermissionMode::Default, call)
    }

    fn prompt(prompt: &str) -> HookInput {
        happens(HookCall::UserPromptSubmit { prompt: prompt.to_owned() })
    }

    #[tokio::test]
    async fn answers_come_from_the_script_of_the_event_and_inputs_are_kept() {
        let (no, note) = (HookOutcome::blocked("no"), HookOutcome::context("note"));
        let hooks = ScriptedHooks::new()
            .always("UserPromptSubmit", note.clone())
            .answer("UserPromptSubmit", no.clone())
            .answer("UserPromptSubmit", HookOutcome::default());
        let cancel = CancellationToken::new();
        let start = happens(HookCall::SessionStart { source: SessionSource::Startup });
        let told = [prompt("a"), start, prompt("b"), prompt("c"), prompt("d")];
        let mut said = Vec::new();
        for input in &told {
            said.push(hooks.run(input, &cancel).await);
        }
        assert_eq!(said, [no, HookOutcome::default(), HookOutcome::default(), note.clone(), note]);
        assert_eq!(hooks.inputs(), told);
        assert_eq!(hooks.events()[..2], ["UserPromptSubmit", "SessionStart"]);
        assert_eq!(hooks.calls()[0], HookCall::UserPromptSubmit { prompt: "a".into() });
    }

    #[tokio::test]
    async fn a_held_event_waits_for_its_gate_or_the_token() {
        let door = Gate::new("door");
        let no = HookOutcome::blocked("no");
        let hooks = ScriptedHooks::new()
            .always("UserPromptSubmit", no.clone())
            .hold_at("UserPromptSubmit", door.clone());
        let (input, cancel) = (prompt("a"), CancellationToken::new());
        let abort = async {
            door.reached().await;
            assert_eq!(hooks.events(), ["UserPromptSubmit"]);
            cancel.cancel();
        };
        assert_eq!(tokio::join!(hooks.run(&input, &cancel), abort).0, HookOutcome::default());
        door.open();
        assert_eq!(hooks.run(&input, &CancellationToken::new()).await, no);
    }
}
