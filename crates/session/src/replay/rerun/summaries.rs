//! A model that gives the recorded summaries, and has every request for one checked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};
use robota_core::{
    Capabilities, FinishReason, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError,
    ProviderErrorKind, ProviderInfo,
};
use tokio_util::sync::CancellationToken;

use crate::replay::recording::RecordedCompaction;

/// Answers the requests of one compaction as they were answered then.
pub(super) struct Summaries {
    info: ProviderInfo,
    recorded: Arc<RecordedCompaction>,
    outcome: Mutex<Outcome>,
}

/// How it went so far.
#[derive(Clone, Default)]
pub(super) struct Outcome {
    /// Requests made.
    pub(super) made: usize,
    pub(super) verified: usize,
    pub(super) unverifiable: usize,
    /// The index of the request, and what differs.
    pub(super) divergence: Option<(usize, String)>,
}

impl Summaries {
    pub(super) fn new(recorded: &Arc<RecordedCompaction>) -> Self {
        let capabilities =
            Capabilities { tools: true, images: true, thinking: true, ..Capabilities::default() };
        let info = ProviderInfo::new(recorded.settings.provider.as_str(), capabilities);
        Self { info, recorded: Arc::clone(recorded), outcome: Mutex::default() }
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the next request and gives its answer.
    fn answer(&self, request: &ModelRequest) -> Vec<Result<ModelEvent, ProviderError>> {
        let mut outcome = self.lock();
        if outcome.divergence.is_some() {
            return ended();
        }
        let index = outcome.made;
        let Some(recorded) = self.recorded.requests.get(index) else {
            if self.recorded.replacement.is_some() && !self.recorded.redacted {
                let further = "a further request would be made, where the compaction was then done";
                outcome.divergence = Some((index, further.to_owned()));
            }
            return ended();
        };
        outcome.made += 1;
        match recorded.digest {
            Some(digest) if digest == request.digest() => outcome.verified += 1,
            Some(_) if !self.recorded.redacted => {
                outcome.divergence = Some((index, different(index)));
                return ended();
            }
            _ => outcome.unverifiable += 1,
        }
        match &recorded.summary {
            Some(summary) => {
                vec![
                    Ok(ModelEvent::TextDelta(summary.clone())),
                    Ok(ModelEvent::Finish(FinishReason::EndTurn)),
                ]
            }
            // A compaction goes on after a call without a summary only where its length was refused.
            None if outcome.made < self.recorded.requests.len() => {
                vec![failure(ProviderErrorKind::ContextLength)]
            }
            None => ended(),
        }
    }
}

impl Provider for Summaries {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        stream::iter(self.answer(&request)).boxed()
    }
}

fn ended() -> Vec<Result<ModelEvent, ProviderError>> {
    vec![failure(ProviderErrorKind::Protocol)]
}

fn failure(kind: ProviderErrorKind) -> Result<ModelEvent, ProviderError> {
    Err(ProviderError::new(kind, "the recording has no summary"))
}

fn different(index: usize) -> String {
    let since = if index == 0 { "" } else { ", or the summary that came before it" };
    format!(
        "the log does not tell what was sent then; what has changed is in the model, the limits, the instructions \
         of the compaction, the messages that it summarises{since}"
    )
}
