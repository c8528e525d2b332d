//! A recorded compaction, run again.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::{
    Agent, AgentConfig, Ambient, Clock, History, HistoryHead, IdSource, MessageRef, RawCapture, Timestamp,
};
use tokio_util::sync::CancellationToken;

use super::Nowhere;
use super::check::messages as difference;
use super::stand_in::stand_in_tools;
use super::summaries::{Outcome, Summaries};
use crate::replay::recording::{CompactionStart, RecordedCompaction};
use crate::replay::report::{CompactionReplay, Divergence};
use crate::{CompactionError, Compactor};

/// Compacts the history again that was compacted then, with the summaries that the model gave, and compares
/// every request and what it came to. One that failed or was cut off is followed up to there.
///
/// Where the log does not tell what a compaction was asked for, as in logs of before it was recorded, what it
/// tells is compared with itself, and its requests count as unverifiable.
pub(super) async fn replay_compaction(recorded: &Arc<RecordedCompaction>) -> CompactionReplay {
    let outcome = match (first_misfit(recorded), &recorded.start) {
        (Some(misfit), _) => {
            Outcome { unverifiable: misfit.0, divergence: Some(misfit), ..Outcome::default() }
        }
        (None, Some(start)) => run_again(recorded, start).await,
        (None, None) => Outcome { unverifiable: recorded.requests.len(), ..Outcome::default() },
    };
    let seq_of = |index: usize| {
        let request = recorded.requests.get(index).or_else(|| recorded.requests.last());
        request.map_or(0, |request| request.seq)
    };
    CompactionReplay {
        turn: recorded.turn,
        requests: recorded.requests.len(),
        verified: outcome.verified,
        unverifiable: outcome.unverifiable,
        divergence: outcome.divergence.map(|(index, difference)| Divergence {
            turn: recorded.turn,
            compaction: true,
            request: index + 1,
            seq: seq_of(index),
            difference,
        }),
    }
}

async fn run_again(recorded: &Arc<RecordedCompaction>, start: &CompactionStart) -> Outcome {
    let settings = &recorded.settings;
    let model = Arc::new(Summaries::new(recorded));
    let agent = Agent::new(AgentConfig {
        provider: Arc::<Summaries>::clone(&model),
        model: Arc::clone(&settings.model),
        system: Arc::clone(&settings.system),
        // Their specs count as part of the window.
        tools: stand_in_tools(&settings.tools, None),
        max_rounds: 0,
        context_window: start.context_window,
        max_output_tokens: settings.max_output_tokens,
        output_budget: 0,
        spill: None,
        tuning: settings.tuning.clone(),
        idle_timeout: None,
        raw_capture: RawCapture::Off,
        ambient: ambient_of(recorded),
    });
    let before = History::restored(recorded.before.clone(), Vec::new(), HistoryHead::default(), 0);
    let (history, cancel) = (Mutex::new(before), CancellationToken::new());
    let compactor =
        Compactor { agent: &agent, history: &history, sink: &Nowhere, hooks: None, cancel: &cancel };
    let ended = compactor.compact(start.request.clone()).await.map(drop);
    let history = history.into_inner().unwrap_or_else(PoisonError::into_inner);
    judged(recorded, model.outcome(), ended, history.messages())
}

/// What to say of a compaction that `ended` like this, with these messages, after it was run again.
fn judged(
    recorded: &RecordedCompaction,
    mut outcome: Outcome,
    ended: Result<(), CompactionError>,
    messages: &[MessageRef],
) -> Outcome {
    let (made, requests) = (outcome.made, recorded.requests.len());
    if outcome.divergence.is_some() {
        return outcome;
    }
    if recorded.redacted {
        // Where it went otherwise, that may be for what was taken out.
        outcome.unverifiable += requests - made;
    } else if made < requests {
        outcome.divergence = Some((made, "it was not made".to_owned()));
    } else if let Some(replacement) = &recorded.replacement {
        let told = match replacement.len().checked_sub(recorded.added.len()) {
            Some(length) => replacement.get(..length).unwrap_or_default(),
            None => replacement,
        };
        let otherwise = match ended {
            Ok(()) => difference(told, messages)
                .map(|difference| format!("in the history that it came to, {difference}")),
            Err(error) => Some(format!("it replaced the history then, and does not now: {error}")),
        };
        outcome.divergence = otherwise.map(|otherwise| (requests.saturating_sub(1), otherwise));
    }
    outcome
}

/// The index of the first request that does not fit, and why.
fn first_misfit(recorded: &RecordedCompaction) -> Option<(usize, String)> {
    let length = recorded.before.len();
    // A call without a summary was refused or failed; the same part is then asked for again.
    let mut part = 1;
    for (index, request) in recorded.requests.iter().enumerate() {
        if request.told_length != length {
            let difference = format!("the history had {} messages and has {length}", request.told_length);
            return Some((index, difference));
        }
        if request.part != part {
            return Some((index, format!("it was for part {}, where part {part} comes next", request.part)));
        }
        part += u32::from(request.summary.is_some());
    }
    let messages = recorded.replacement.as_ref()?;
    let last = recorded.requests.len().checked_sub(1)?;
    let summary = recorded.requests.iter().rev().find_map(|request| request.summary.as_ref());
    let Some(summary) = summary else { return Some((last, "its summary is not in the log".to_owned())) };
    let held = recorded.redacted || messages.iter().any(|message| message.text().contains(summary.as_str()));
    (!held).then(|| (last, "its summary is not in the history that it came to".to_owned()))
}

/// Time and id of the summary, which count as part of its size. Where it did not come to one, any id is of the
/// usual length.
fn ambient_of(recorded: &RecordedCompaction) -> Ambient {
    let summary = recorded.replacement.as_ref().and_then(|messages| messages.first());
    let Some(summary) = summary else { return Ambient::default() };
    let known = Arc::new(Known { id: summary.id.clone(), at: summary.timestamp });
    Ambient { clock: Arc::<Known>::clone(&known), ids: known }
}

/// An id and a time, always the same.
struct Known {
    id: String,
    at: Timestamp,
}

impl Clock for Known {
    fn now(&self) -> Timestamp {
        self.at
    }
}

impl IdSource for Known {
    fn next_id(&self) -> String {
        self.id.clone()
    }
}
