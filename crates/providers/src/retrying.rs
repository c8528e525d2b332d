//! The one place where failed model calls are tried again.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures_util::{StreamExt, stream};
use robota_core::{
    ModelEvent, ModelRequest, ModelStream, NativeWebTools, NativeWebToolsReport, Provider, ProviderError,
    ProviderErrorKind, ProviderInfo,
};
use tokio_util::sync::CancellationToken;

/// How often and how patiently a call is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct RetryPolicy {
    /// Attempts in all, the first included; 5. With 1, nothing is retried.
    pub max_attempts: u32,
    /// Pause before the second attempt; 500 ms.
    pub base_delay: Duration,
    /// By what each pause is longer than the one before; 2.
    pub factor: f32,
    /// Longest pause before jitter; 30 s.
    pub max_delay: Duration,
    /// Whether each pause gets a random addition of up to its own length, so that many clients do
    /// not come back all at once; true.
    pub jitter: bool,
    /// Longest pause a server may ask for; 120 s. When it asks for more, the call fails.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            base_delay: Duration::from_millis(500),
            factor: 2.0,
            max_delay: Duration::from_secs(30),
            jitter: true,
            max_retry_after: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    fn pauses(&self) -> ExponentialBackoff {
        let builder = ExponentialBuilder::new()
            .with_min_delay(self.base_delay)
            .with_factor(self.factor)
            .with_max_delay(self.max_delay)
            .with_max_times(usize::try_from(self.max_attempts.saturating_sub(1)).unwrap_or(usize::MAX));
        if self.jitter { builder.with_jitter().build() } else { builder.build() }
    }
}

/// A provider that tries failed calls of another one again.
///
/// Only failures that may pass ([`ProviderError::is_retryable`]), and only until something visible
/// has arrived: text, thinking or a tool call. After that the failure goes up, and the caller
/// decides what becomes of the partial answer. Before each pause comes a [`ModelEvent::Retry`];
/// cancelling ends a pause at once.
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
            attempt: 1,
            visible: false,
            pause: None,
        });
        stream::unfold(attempts, |mut attempts| async move {
            attempts.next().await.map(|event| (event, attempts))
        })
        .boxed()
    }
}

/// One call with all its attempts.
struct Attempts {
    inner: Arc<dyn Provider>,
    request: ModelRequest,
    cancel: CancellationToken,
    pauses: ExponentialBackoff,
    policy: RetryPolicy,
    attempt: u32,
    /// Something arrived that a user may have seen.
    visible: bool,
    /// The attempt that runs; `None` in a pause and at the end.
    current: Option<ModelStream>,
    pause: Option<Duration>,
}

impl Attempts {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        if let Some(pause) = self.pause.take() {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Some(Err(cancelled())),
                () = tokio::time::sleep(pause) => {}
            }
            self.current = Some(self.inner.stream(self.request.clone(), self.cancel.clone()));
        }
        match self.current.as_mut()?.next().await {
            Some(Ok(event)) => {
                self.visible |= is_visible(&event);
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
        if self.visible || !error.is_retryable() || self.cancel.is_cancelled() {
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
        self.attempt += 1;
        self.pause = Some(pause);
        tracing::debug!(attempt = self.attempt, ?pause, %error, "model call failed, trying again");
        Ok(ModelEvent::Retry {
            attempt: self.attempt,
            max_attempts: self.policy.max_attempts,
            delay_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            reason: error.to_string(),
            status: error.status(),
        })
    }
}

fn is_visible(event: &ModelEvent) -> bool {
    matches!(
        event,
        ModelEvent::TextDelta(_)
            | ModelEvent::ThinkingDelta(_)
            | ModelEvent::ThinkingEnd { .. }
            | ModelEvent::RedactedThinking(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ServerTool { .. }
    )
}

fn cancelled() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Cancelled, "the call was cancelled while waiting to try again")
}
