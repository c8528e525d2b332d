//! Running a recorded session again: the model's answers and the tools' results come from the log,
//! and every request is checked against the one that was made then.

mod check;
mod compaction;
mod host;
mod progress;
mod stand_in;
mod summaries;

use std::borrow::Borrow;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{
    Agent, AgentConfig, Ambient, Error, Event, EventKind, EventSink, History, HistoryHead, Message,
    RawCapture, Turn,
};
use tokio_util::sync::CancellationToken;

use self::check::Witness;
use self::compaction::replay_compaction;
use self::host::RecordedHost;
use self::progress::Progress;
use self::stand_in::{Open, StandInModel, stand_in_tools};
use super::recording::{Recorded, RecordedTurn, Recorder};
use super::report::{Divergence, ReplayReport, TurnReplay};

/// Runs each turn and each compaction of the session that `events` record, on the history it then had, and
/// compares every request. Calls no model, runs no tool, writes nothing.
///
/// What the user said meanwhile, what hooks added and what compactions made of the history is taken from
/// the log, at the places it has there. A turn that was interrupted or failed is followed up to there. An
/// event that comes a second time is passed over. Events are taken in the order they have: where lines of
/// a log are lost or have changed places, the turn differs from the recorded one, and that is what the
/// report says.
pub async fn replay<I>(events: I) -> ReplayReport
where
    I: IntoIterator,
    I::Item: Borrow<Event>,
{
    let mut recorder = Recorder::default();
    let mut rerun = Rerun::default();
    for event in events {
        recorder.take(event.borrow());
        while let Some(recorded) = recorder.next() {
            rerun.take(recorded).await;
        }
    }
    recorder.end();
    while let Some(recorded) = recorder.next() {
        rerun.take(recorded).await;
    }
    rerun.report
}

/// What holds from one turn to the next.
#[derive(Default)]
struct Rerun {
    report: ReplayReport,
    /// The last request that came out as it was recorded.
    witness: Option<Witness>,
}

impl Rerun {
    async fn take(&mut self, recorded: Recorded) {
        match recorded {
            Recorded::Turn(turn) => {
                let replayed = self.replay_turn(Arc::new(turn)).await;
                self.report.turns.push(replayed);
            }
            Recorded::Compaction(compaction) => {
                self.report.compactions.push(replay_compaction(&compaction).await);
            }
        }
    }

    async fn replay_turn(&mut self, recorded: Arc<RecordedTurn>) -> TurnReplay {
        let progress = Arc::new(Progress::new(Arc::clone(&recorded), self.witness.take()));
        match &recorded.prompt {
            Some(prompt) => run_again(&recorded, Message::clone(prompt), &progress).await,
            None => progress.diverged("the prompt of the turn is not in the log".to_owned()),
        }
        let outcome = progress.finish();
        self.witness = outcome.witness;
        let divergence = outcome.divergence.map(|(index, difference)| Divergence {
            turn: recorded.turn,
            compaction: false,
            request: index + 1,
            seq: recorded.requests.get(index).map_or(recorded.last_seq, |request| request.seq),
            difference,
        });
        TurnReplay {
            turn: recorded.turn,
            requests: recorded.requests.len(),
            verified: outcome.verified,
            unverifiable: outcome.unverifiable,
            divergence,
        }
    }
}

/// Drives the engine through the turn. Its outcome says nothing: the stand-ins end where the recording
/// does, and have noted every request.
async fn run_again(recorded: &Arc<RecordedTurn>, prompt: Message, progress: &Arc<Progress>) {
    let settings = &recorded.settings;
    let agent = Agent::new(AgentConfig {
        provider: Arc::new(StandInModel::new(&settings.provider, Arc::clone(progress))),
        model: Arc::clone(&settings.model),
        system: Arc::clone(&settings.system),
        tools: stand_in_tools(&settings.tools, Some(progress)),
        max_rounds: recorded.max_rounds,
        // Recorded results are cut already, and room is made where it was made then.
        context_window: 0,
        output_budget: 0,
        spill: None,
        max_output_tokens: settings.max_output_tokens,
        tuning: settings.tuning.clone(),
        idle_timeout: None,
        raw_capture: RawCapture::Off,
        ambient: Ambient::default(),
    });
    let before = History::restored(recorded.before.clone(), Vec::new(), HistoryHead::default(), 0);
    let history = Mutex::new(before);
    let host = RecordedHost { progress: Arc::clone(progress), history: &history };
    let sink: Arc<dyn EventSink> = Arc::new(Nowhere);
    let cancel = CancellationToken::new();
    let turn = Turn {
        history: &history,
        prompt,
        response_format: recorded.response_format.clone(),
        sink: &sink,
        gate: &Open,
        cancel: &cancel,
        host: &host,
    };
    agent.run_turn(turn).await;
}

/// A sink for events that nobody needs.
struct Nowhere;

impl EventSink for Nowhere {
    fn emit(&self, _: EventKind) {}

    fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
