//! A provider that answers from a recording.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use robota_core::{
    Capabilities, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
    ProviderInfo, RecordedAnswer, RequestDigest,
};
use tokio_util::sync::CancellationToken;

/// Gives recorded answers, one to each call, in their order; `robota_session::recorded_answers` reads them from the
/// log of a session.
///
/// A call whose request is another than the recorded one ([`RequestDigest`]) fails with
/// [`ProviderErrorKind::Protocol`] and says which call it is, unless requests are [not
/// checked](Self::without_checks); so does a call for which no answer is left.
pub struct ReplayProvider {
    info: ProviderInfo,
    checked: bool,
    recording: Mutex<Recording>,
}

struct Recording {
    answers: VecDeque<RecordedAnswer>,
    /// Answers given so far.
    given: usize,
}

impl ReplayProvider {
    /// Gives `answers` in the name of the provider `id`: that which the recorded session had, because the thinking in
    /// an answer is marked with it.
    #[must_use]
    pub fn new(id: impl Into<String>, answers: impl IntoIterator<Item = RecordedAnswer>) -> Self {
        // What a request may hold was decided when it was recorded.
        let capabilities = Capabilities {
            tools: true,
            images: true,
            documents: true,
            thinking: true,
            structured_output: true,
        };
        Self {
            info: ProviderInfo::new(id, capabilities),
            checked: true,
            recording: Mutex::new(Recording { answers: answers.into_iter().collect(), given: 0 }),
        }
    }

    /// The same answers to whatever is asked.
    #[must_use]
    pub fn without_checks(mut self) -> Self {
        self.checked = false;
        self
    }

    /// How many answers are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.recording().answers.len()
    }

    fn recording(&self) -> std::sync::MutexGuard<'_, Recording> {
        // Nothing panics while it is held.
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &ModelRequest) -> Result<RecordedAnswer, ProviderError> {
        let mut recording = self.recording();
        let number = recording.given + 1;
        let Some(next) = recording.answers.front() else {
            let message =
                format!("model call {number} was not recorded: the recording has {} answers", number - 1);
            return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
        };
        if let Some(recorded) = next.digest.filter(|_| self.checked) {
            let made = request.digest();
            if made != recorded {
                return Err(different(number, made, recorded));
            }
        }
        recording.given = number;
        recording.answers.pop_front().ok_or_else(|| different(number, request.digest(), request.digest()))
    }
}

fn different(number: usize, made: RequestDigest, recorded: RequestDigest) -> ProviderError {
    let message = format!(
        "model call {number} is not the one that was recorded: its request is {made}, not {recorded}"
    );
    let hint = "model, system prompt, tools, limits or conversation are others than in the recorded session";
    ProviderError::new(ProviderErrorKind::Protocol, message).with_hint(hint)
}

impl fmt::Debug for ReplayProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayProvider").field("id", &self.info.id).finish_non_exhaustive()
    }
}

impl Provider for ReplayProvider {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        let steps: Vec<Result<ModelEvent, ProviderError>> = match self.answer(&request) {
            Ok(RecordedAnswer { events, failure, .. }) => {
                events.into_iter().map(Ok).chain(failure.map(|failure| Err(failure.into()))).collect()
            }
            Err(error) => vec![Err(error)],
        };
        stream::iter(steps).boxed()
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{FinishReason, Message, RecordedFailure, Timestamp};

    use super::*;

    fn request(text: &str) -> ModelRequest {
        ModelRequest::new("m", vec![Message::user("u", Timestamp::default(), text).into()])
    }

    async fn call(provider: &ReplayProvider, text: &str) -> Vec<Result<ModelEvent, String>> {
        let steps = provider.stream(request(text), CancellationToken::new());
        steps.map(|step| step.map_err(|error| error.to_string())).collect().await
    }

    #[tokio::test]
    async fn answers_come_in_order_to_the_requests_they_were_given_to() {
        let whole = vec![ModelEvent::TextDelta("a".into()), ModelEvent::Finish(FinishReason::EndTurn)];
        let half = vec![ModelEvent::TextDelta("b".into())];
        let failure = RecordedFailure::new(ProviderErrorKind::Server, "broke", Some(500));
        let answers = [
            RecordedAnswer::new(whole.clone()).to_request(Some(request("one").digest())),
            RecordedAnswer::new(half.clone()).failing(failure),
        ];
        let provider = ReplayProvider::new("p", answers);
        let refused = call(&provider, "other").await;
        let told = refused[0].clone().unwrap_err();
        assert!(told.starts_with("model call 1 is not the one that was recorded: "), "{told}");
        assert_eq!(call(&provider, "one").await, whole.into_iter().map(Ok).collect::<Vec<_>>());
        assert_eq!(call(&provider, "two").await, [Ok(half[0].clone()), Err("broke".to_owned())]);
        let none = call(&provider, "three").await;
        assert_eq!(none, [Err("model call 3 was not recorded: the recording has 2 answers".to_owned())]);
    }
}
