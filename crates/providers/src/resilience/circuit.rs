//! An endpoint that is dead is left alone for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use robota_core::{
    ModelEvent, ModelRequest, ModelStream, NativeWebTools, NativeWebToolsReport, Provider, ProviderError,
    ProviderErrorKind, ProviderInfo,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// When an endpoint counts as dead, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct CircuitPolicy {
    /// So many calls in a row without a connection; 5. With 0, every call is made.
    pub failures: usize,
    /// Within this time; 60 s.
    pub window: Duration,
    /// How long calls then fail at once; 30 s. After that, one call is made to see whether the endpoint is back.
    pub cool_down: Duration,
}

impl Default for CircuitPolicy {
    fn default() -> Self {
        Self { failures: 5, window: Duration::from_secs(60), cool_down: Duration::from_secs(30) }
    }
}

/// A provider that does not call an endpoint to which there was no connection again and again.
///
/// Calls then fail at once, with an error that says since when and why, and that is not retried. Only calls that
/// brought nothing but [`ProviderErrorKind::Network`] count; any answer, even a refusal, shows that the endpoint
/// lives. Clones share what they have seen.
#[derive(Clone)]
pub struct CircuitBreaker {
    inner: Arc<dyn Provider>,
    circuit: Arc<Circuit>,
}

impl CircuitBreaker {
    /// Spares the calls of `inner` by `policy`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, policy: CircuitPolicy) -> Self {
        Self { inner, circuit: Arc::new(Circuit { policy, seen: Mutex::default() }) }
    }
}

impl Provider for CircuitBreaker {
    fn info(&self) -> &ProviderInfo {
        self.inner.info()
    }

    fn configure_native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        self.inner.configure_native_web_tools(model, wanted)
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let permit = match self.circuit.admit() {
            Ok(permit) => permit,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let permit = Permit { circuit: Arc::clone(&self.circuit), probe: permit, open: true };
        let watched = Watched { calls: self.inner.stream(request, cancel), permit };
        stream::unfold(watched, |mut watched| async move {
            let step = watched.calls.next().await?;
            watched.permit.note(&step);
            Some((step, watched))
        })
        .boxed()
    }
}

/// A call and what it may tell the circuit.
struct Watched {
    calls: ModelStream,
    permit: Permit,
}

/// What is known of one endpoint.
struct Circuit {
    policy: CircuitPolicy,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// When the last calls failed, oldest first.
    failures: VecDeque<Instant>,
    /// When there was first no connection, and why at last; set while the endpoint counts as dead.
    dead: Option<Dead>,
}

struct Dead {
    since: Instant,
    until: Instant,
    cause: String,
    /// A call is under way that shows whether the endpoint is back.
    probed: bool,
}

impl Circuit {
    /// Lets a call through; true for the one that probes a dead endpoint.
    fn admit(&self) -> Result<bool, ProviderError> {
        let mut seen = self.seen();
        let Some(dead) = &mut seen.dead else { return Ok(false) };
        let now = Instant::now();
        if dead.probed || now < dead.until {
            return Err(dead.error(now));
        }
        dead.probed = true;
        Ok(true)
    }

    fn lives(&self) {
        *self.seen() = Seen::default();
    }

    fn failed(&self, cause: &ProviderError) {
        let CircuitPolicy { failures, window, cool_down } = self.policy;
        let now = Instant::now();
        let mut seen = self.seen();
        seen.failures.push_back(now);
        while seen.failures.len() > failures.max(1) {
            seen.failures.pop_front();
        }
        let until = now + cool_down;
        let cause = cause.to_string();
        if let Some(dead) = &mut seen.dead {
            (dead.until, dead.cause, dead.probed) = (until, cause, false);
        } else if let Some(since) = seen.failures.front().copied()
            && failures > 0
            && seen.failures.len() == failures
            && now.duration_since(since) <= window
        {
            seen.dead = Some(Dead { since, until, cause, probed: false });
        }
    }

    /// The probe has ended without showing anything.
    fn give_back(&self) {
        if let Some(dead) = &mut self.seen().dead {
            dead.probed = false;
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing panics while it is held.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dead {
    fn error(&self, now: Instant) -> ProviderError {
        let since = now.duration_since(self.since).as_secs();
        let message = format!("not called: there has been no connection for {since} s: {}", self.cause);
        let wait = self.until.saturating_duration_since(now);
        let hint = match wait.as_secs_f64().ceil() {
            0.0 => "another call is finding out whether the service is back".to_owned(),
            seconds => {
                format!("the service is called again in {seconds} s; check the network and its address")
            }
        };
        ProviderError::new(ProviderErrorKind::Network, message)
            .with_retryable(false)
            .with_retry_after(wait)
            .with_hint(hint)
    }
}

/// The right of one call to tell the circuit how it went.
struct Permit {
    circuit: Arc<Circuit>,
    probe: bool,
    /// Nothing was told yet.
    open: bool,
}

impl Permit {
    fn note(&mut self, step: &Result<ModelEvent, ProviderError>) {
        // The request itself, captured for the log, comes from here.
        if !self.open || matches!(step, Ok(ModelEvent::Raw { .. })) {
            return;
        }
        match step {
            Err(error) if error.kind() == ProviderErrorKind::Network => self.circuit.failed(error),
            // Says nothing about the endpoint.
            Err(error) if says_nothing(error.kind()) => return,
            _ => self.circuit.lives(),
        }
        self.open = false;
    }
}

const fn says_nothing(kind: ProviderErrorKind) -> bool {
    matches!(
        kind,
        ProviderErrorKind::Cancelled | ProviderErrorKind::Configuration | ProviderErrorKind::Timeout
    )
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open && self.probe {
            self.circuit.give_back();
        }
    }
}
