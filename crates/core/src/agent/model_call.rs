//! One model call: the stream becomes events as it arrives, and an answer at its end.

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::raw_payloads::RawPayloads;
use crate::{EventKind, EventSink, ModelEvent, ModelRequest, Provider, ProviderError, ProviderErrorKind};

/// How a model call ended.
pub(super) enum CallEnd {
    /// The answer is whole.
    Finished,
    /// The turn was aborted.
    Cancelled,
    /// The call failed.
    Failed(ProviderError),
}

/// Makes the call and shows its progress on `sink`. What was received stays in the answer however
/// the call ends.
pub(super) async fn call(
    provider: &dyn Provider,
    request: ModelRequest,
    round: u32,
    sink: &dyn EventSink,
    cancel: &CancellationToken,
) -> (Answer, CallEnd) {
    let mut answer = Answer::of(provider.info().id.as_str());
    let mut raw = RawPayloads::new(provider.info().id.clone(), round, sink);
    let mut stream = provider.stream(request, cancel.child_token());
    loop {
        let next = tokio::select! {
            biased;
            () = cancel.cancelled() => return (answer, CallEnd::Cancelled),
            next = stream.next() => next,
        };
        match next {
            Some(Ok(ModelEvent::Raw { kind, payload })) => raw.take(kind, payload),
            Some(Ok(event)) => {
                answer.take(&event);
                if let ModelEvent::Fallback { provider, .. } = &event {
                    raw.go_on_with(provider);
                }
                if let Some(kind) = EventKind::of_model(event) {
                    sink.emit(kind);
                }
            }
            Some(Err(error)) if error.kind() == ProviderErrorKind::Cancelled && cancel.is_cancelled() => {
                return (answer, CallEnd::Cancelled);
            }
            Some(Err(error)) => return (answer, CallEnd::Failed(error)),
            None => break,
        }
    }
    if answer.finish.is_some() {
        return (answer, CallEnd::Finished);
    }
    let cut = ProviderError::new(ProviderErrorKind::Protocol, "the model's answer stopped without an end");
    (answer, CallEnd::Failed(cut))
}
