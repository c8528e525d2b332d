//! Answers that are recorded, and then given again.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use robota_core::{ModelRequest, ModelStream, Provider, ProviderInfo, RecordedAnswer, RecordedFailure};
use robota_providers::ReplayProvider;
use robota_testkit::ScriptedProvider;
use tokio_util::sync::CancellationToken;

/// Records each answer of a script, and gives what the replay provider makes of the recording.
pub(super) struct Replaying(pub(super) Arc<ScriptedProvider>);

impl Provider for Replaying {
    fn info(&self) -> &ProviderInfo {
        self.0.info()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let id = self.info().id.to_string();
        let original = self.0.stream(request.clone(), cancel.clone());
        let replayed = async move {
            let (mut events, mut failure) = (Vec::new(), None);
            for event in original.collect::<Vec<_>>().await {
                match event {
                    Ok(event) => events.push(event),
                    Err(error) => {
                        failure = Some(RecordedFailure::new(error.kind(), error.to_string(), error.status()));
                    }
                }
            }
            let mut answer = RecordedAnswer::new(events).to_request(Some(request.digest()));
            if let Some(failure) = failure {
                answer = answer.failing(failure);
            }
            ReplayProvider::new(id, [answer]).stream(request, cancel)
        };
        stream::once(replayed).flatten().boxed()
    }
}
