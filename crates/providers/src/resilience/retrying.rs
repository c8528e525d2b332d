//! Failed model calls, tried again.

use std::sync::Arc;
use std::time::Duration;

use backon::ExponentialBackoff;
use futures_util::{StreamExt, stream};
use robota_core::{
    ModelEvent, ModelRequest, ModelStream, NativeWebTools, NativeWebToolsReport, Provider, ProviderError,
    ProviderErrorKind, ProviderInfo,
};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::RetryPolicy;
use super::visible::is_visible;

/// A provider that tries failed calls of another one again.
///
/// Only failures that may pass ([`ProviderError::is_retryable`]). An answer that breaks off in the middle begins
/// anew, as far as the policy lets it: what was given out of it is void, and the [`ModelEvent::Retry`] that comes
/// before each pause says so. An answer is never put together from two attempts, because no model goes on where
/// another call of it has ended. Where tools of the provider itself have run, which may cost money and may act, an
/// answer begins anew only once. Cancelling ends a pause at once.
pub struct Retrying {
    inner: Arc<dyn Provider>,
    policy: RetryPolicy,
}

impl Retrying {
    /// Retries the calls of `inner` by `policy`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, policy: RetryPolicy) -> Self {
        Self { inner, policy }
    }
}

impl Provider for Retrying {
    fn info(&self) -> &ProviderInfo {
        self.inner.info()
    }

    fn configure_native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        self.inner.configure_native_web_tools(model, wanted)
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let attempts = Box::new(Attempts {
            current: Some(self.inner.stream(request.clone(), cancel.clone())),
            inner: Arc::clone(&self.inner),
            request,
            cancel,
            pauses: self.policy.pauses(),
            policy: self.policy,
            ends: self.policy.deadline.and_then(|limit| Instant::now().checked_add(limit)),
            attempt: 1,
            visible: false,
            server_tool: false,
            repeated_server_tool: false,
            pause: None,
        });
        stream::unfold(attempts, |mut attempts| async move {
            attempts.next().await.map(|event| (event, attempts))
        })
        .boxed()
    }
}

type Step = Option<Result<ModelEvent, ProviderError>>;

/// One call with all its attempts.
struct Attempts {
    inner: Arc<dyn Provider>,
    request: ModelRequest,
    cancel: CancellationToken,
    pauses: ExponentialBackoff,
    policy: RetryPolicy,
    /// When it must be over.
    ends: Option<Instant>,
    attempt: u32,
    /// Something of this attempt arrived that a user may have seen.
    visible: bool,
    /// The provider has run a tool of its own in this attempt.
    server_tool: bool,
    /// An attempt in which it did so was followed by another one.
    repeated_server_tool: bool,
    /// The attempt that runs; `None` in a pause and at the end.
    current: Option<ModelStream>,
    pause: Option<Duration>,
}

impl Attempts {
    async fn next(&mut self) -> Step {
        let Some(ends) = self.ends else { return self.step().await };
        match timeout_at(ends, self.step()).await {
            Ok(step) => step,
            Err(_) => {
                self.current = None;
                (self.ends, self.pause) = (None, None);
                Some(Err(self.too_late()))
            }
        }
    }

    async fn step(&mut self) -> Step {
        if let Some(pause) = self.pause {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    self.pause = None;
                    return Some(Err(cancelled()));
                }
                () = sleep(pause) => self.pause = None,
            }
            self.current = Some(self.inner.stream(self.request.clone(), self.cancel.clone()));
        }
        match self.current.as_mut()?.next().await {
            Some(Ok(event)) => {
                self.visible |= is_visible(&event);
                self.server_tool |= matches!(event, ModelEvent::ServerTool { .. });
                Some(Ok(event))
            }
            Some(Err(error)) => {
                // Closes the connection before the pause.
                self.current = None;
                Some(self.after(error))
            }
            None => {
                self.current = None;
                None
            }
        }
    }

    /// A pause when the failure may pass, or else the failure.
    fn after(&mut self, error: ProviderError) -> Result<ModelEvent, ProviderError> {
        if !error.is_retryable() || self.cancel.is_cancelled() || !self.may_begin_anew() {
            return Err(error);
        }
        let Some(pause) = self.pauses.next() else { return Err(error) };
        let asked = error.retry_after().filter(|asked| !asked.is_zero());
        if let Some(asked) = asked.filter(|asked| *asked > self.policy.max_retry_after) {
            let limit = self.policy.max_retry_after;
            return Err(error.with_hint(format!(
                "the service asks to wait {} s, more than the {} s that are waited unasked; try again then",
                asked.as_secs(),
                limit.as_secs()
            )));
        }
        let pause = asked.unwrap_or(pause);
        if let (Some(ends), Some(limit)) = (self.ends, self.policy.deadline)
            && ends.saturating_duration_since(Instant::now()) <= pause
        {
            let hint = format!("there was no time for another attempt: a call may take {limit:?} in all");
            return Err(error.with_hint(hint));
        }
        self.attempt += 1;
        self.pause = Some(pause);
        self.repeated_server_tool |= std::mem::take(&mut self.server_tool);
        tracing::debug!(attempt = self.attempt, ?pause, %error, "model call failed, trying again");
        Ok(ModelEvent::Retry {
            attempt: self.attempt,
            max_attempts: self.policy.max_attempts,
            delay_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            reason: error.to_string(),
            status: error.status(),
            abandoned: std::mem::take(&mut self.visible),
        })
    }

    /// Whether what has come of the answer may be given up.
    const fn may_begin_anew(&self) -> bool {
        !self.visible || (self.policy.restart_cut_streams && !(self.server_tool && self.repeated_server_tool))
    }

    fn too_late(&self) -> ProviderError {
        let limit = self.policy.deadline.unwrap_or_default();
        let attempt = self.attempt;
        let message =
            format!("the model call was given up in attempt {attempt}: it took more than {limit:?} in all");
        ProviderError::new(ProviderErrorKind::Timeout, message)
            .with_retryable(false)
            .with_hint("allow model calls more time, or no limit of all attempts together")
    }
}

fn cancelled() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Cancelled, "the call was cancelled while waiting to try again")
}
