//! Running a recorded session again: the model's answers and the tools' results come from the log,
//! and every request is checked against the one that was made then.

mod recording;
mod stand_in;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use robota_core::{
    Agent, AgentConfig, Ambient, Error, Event, EventKind, EventSink, Message, MessageRef, NoHost, RawCapture,
    Turn,
};
use tokio_util::sync::CancellationToken;

use recording::{RecordedTurn, Recording};
use stand_in::{Open, StandInModel, stand_in_tools};

/// What came of running a session again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Its turns, in order.
    pub turns: Vec<TurnReplay>,
}

/// What came of running one turn again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnReplay {
    /// Number of the turn.
    pub turn: u32,
    /// Model calls that were recorded.
    pub requests: usize,
    /// Where the turn first went another way.
    pub divergence: Option<Divergence>,
}

/// The first place at which a request differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// Number of the turn.
    pub turn: u32,
    /// Number of the request in the turn, from 1.
    pub request: usize,
    /// What differs.
    pub difference: String,
}

impl ReplayReport {
    /// The first divergence of the session.
    #[must_use]
    pub fn first_divergence(&self) -> Option<&Divergence> {
        self.turns.iter().find_map(|turn| turn.divergence.as_ref())
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, request, difference } = self;
        write!(f, "turn {turn}, request {request} differs from the recorded one: {difference}")
    }
}

/// Runs each turn of the session that `events` record, on the history it then had, and compares
/// every request. Calls no model, runs no tool, writes nothing.
///
/// A turn that was interrupted or failed is followed up to there. An event that comes a second time is
/// passed over. Events are taken in the order they have: where lines of a log are lost or have changed
/// places, the turn differs from the recorded one, and that is what the report says.
pub async fn replay(events: &[Event]) -> ReplayReport {
    let recording = Recording::of(events);
    let mut turns = Vec::with_capacity(recording.turns.len());
    for turn in &recording.turns {
        turns.push(replay_turn(turn).await);
    }
    ReplayReport { turns }
}

async fn replay_turn(recorded: &RecordedTurn) -> TurnReplay {
    let model = Arc::new(StandInModel::new(&recorded.provider, recorded.answers.clone()));
    let agent = Agent::new(AgentConfig {
        provider: model.clone(),
        model: recorded.model.as_str().into(),
        system: recorded.system.clone(),
        tools: stand_in_tools(&recorded.tools, &recorded.results),
        max_rounds: recorded.max_rounds,
        context_window: 0,
        max_output_tokens: None,
        output_budget: 0,
        idle_timeout: None,
        raw_capture: RawCapture::Off,
        ambient: Ambient::default(),
    });
    let history = Mutex::new(recorded.before.clone());
    let sink: Arc<dyn EventSink> = Arc::new(Nowhere);
    let prompt = Message::clone(&recorded.prompt);
    let cancel = CancellationToken::new();
    // Its outcome says nothing: the stand-in ends where the recording does.
    agent
        .run_turn(Turn {
            history: &history,
            prompt,
            sink: &sink,
            gate: &Open,
            cancel: &cancel,
            host: &NoHost,
        })
        .await;
    let made = model.requests.lock().unwrap_or_else(PoisonError::into_inner);
    let difference = first_difference(&recorded.requests, &made);
    let divergence =
        difference.map(|(request, difference)| Divergence { turn: recorded.turn, request, difference });
    TurnReplay { turn: recorded.turn, requests: recorded.requests.len(), divergence }
}

/// The number of the first request that differs, and how.
fn first_difference(recorded: &[Vec<MessageRef>], made: &[Vec<MessageRef>]) -> Option<(usize, String)> {
    for (at, (recorded, made)) in recorded.iter().zip(made).enumerate() {
        let pairs = recorded.iter().zip(made).enumerate();
        let differing = pairs.into_iter().find(|(_, (one, other))| !same(one, other));
        if let Some((place, (one, other))) = differing {
            return Some((at + 1, format!("message {place} was {} and is {}", told(one), told(other))));
        }
        // The request for last words has one message more, which no history keeps.
        if made.len() < recorded.len() {
            let (were, are) = (recorded.len(), made.len());
            return Some((at + 1, format!("there were {were} messages and are {are}")));
        }
    }
    let missing = recorded.len() > made.len();
    missing.then(|| (made.len() + 1, "it was not made".to_owned()))
}

/// Whether a provider would write both messages alike: ids, times and metadata are never sent.
fn same(one: &Message, other: &Message) -> bool {
    one.body == other.body && one.state == other.state
}

fn told(message: &Message) -> String {
    let beginning: String = message.text().chars().take(60).collect();
    let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.name.as_str()).collect();
    format!("{} {beginning:?} {calls:?}", message.role())
}

/// A sink for events that nobody needs.
struct Nowhere;

impl EventSink for Nowhere {
    fn emit(&self, _: EventKind) {}

    fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
