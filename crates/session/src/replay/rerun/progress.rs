//! How far a turn has been run again, and how well it went.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::{MessageRef, ModelRequest};

use super::check::{self, Verdict, Witness};
use crate::replay::recording::{Change, RecordedRequest, RecordedTurn, went_to_its_end};

/// What model, tools and host of a turn share while it is run again.
pub(super) struct Progress {
    recorded: Arc<RecordedTurn>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests made so far.
    made: usize,
    /// Changes of others that came before the next request, and are yet to be made.
    waiting: VecDeque<Change>,
    outcome: Outcome,
}

/// How it went.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) verified: usize,
    pub(super) unverifiable: usize,
    /// The index of the request, and what differs.
    pub(super) divergence: Option<(usize, String)>,
    pub(super) witness: Option<Witness>,
}

impl Progress {
    pub(super) fn new(recorded: Arc<RecordedTurn>, witness: Option<Witness>) -> Self {
        let outcome = Outcome { witness, ..Outcome::default() };
        let waiting = injected(recorded.requests.first());
        Self { recorded, state: Mutex::new(State { made: 0, waiting, outcome }) }
    }

    /// Checks the next request, and gives the recorded one when it is the same.
    pub(super) fn made(&self, request: &ModelRequest) -> Option<&RecordedRequest> {
        let mut state = self.lock();
        if state.outcome.divergence.is_some() {
            return None;
        }
        let index = state.made;
        let Some(recorded) = self.recorded.requests.get(index) else {
            state.diverged("a further request was made, which the log does not have".to_owned());
            return None;
        };
        match check::check(&self.recorded, index, request, state.outcome.witness.as_ref()) {
            Verdict::Same => {
                state.outcome.verified += 1;
                state.outcome.witness = Some(Witness::of(&self.recorded.settings, request));
            }
            Verdict::AsFarAsTold => state.outcome.unverifiable += 1,
            Verdict::Different(difference) => {
                state.diverged(difference);
                return None;
            }
        }
        state.made += 1;
        state.waiting = injected(self.recorded.requests.get(index + 1));
        Some(recorded)
    }

    /// Whether the log has another request.
    pub(super) fn goes_on(&self) -> bool {
        let state = self.lock();
        state.outcome.divergence.is_none() && state.made < self.recorded.requests.len()
    }

    /// The recorded result of a call of the last answer.
    pub(super) fn result_of(&self, call_id: &str) -> Option<&MessageRef> {
        let made = self.lock().made;
        self.recorded.results.get(&(made, call_id.to_owned()))
    }

    /// The turn has come to a place where it would call the model, and the log has no further request.
    /// That is as it was where the turn was cut off.
    pub(super) fn ends_early(&self) {
        if let Some(ended) = self.recorded.ended.filter(|ended| went_to_its_end(*ended)) {
            let ended = serde_json::to_value(ended).unwrap_or_default();
            let ended = ended.as_str().unwrap_or_default().to_owned();
            self.diverged(format!("a further request would be made, where the turn then ended as {ended}"));
        }
    }

    /// Takes changes that others made before the next request, as long as `wanted` says so.
    pub(super) fn take_changes(&self, wanted: impl Fn(&Change) -> bool) -> Vec<Change> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        while let Some(change) = state.waiting.pop_front_if(|change| wanted(change)) {
            taken.push(change);
        }
        taken
    }

    /// Notes that the turn goes another way from the next request on.
    pub(super) fn diverged(&self, difference: String) {
        self.lock().diverged(difference);
    }

    /// How it went, now that the turn is over.
    pub(super) fn finish(&self) -> Outcome {
        let mut state = self.lock();
        if state.made < self.recorded.requests.len() {
            state.diverged("it was not made".to_owned());
        }
        std::mem::take(&mut state.outcome)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn diverged(&mut self, difference: String) {
        self.outcome.divergence.get_or_insert((self.made, difference));
    }
}

/// What others than the engine did to the history before `request`.
fn injected(request: Option<&RecordedRequest>) -> VecDeque<Change> {
    let changes = request.map(|request| request.changes.iter());
    changes.into_iter().flatten().filter(|change| !matches!(change, Change::Own(_))).cloned().collect()
}
