//! How patiently failed calls are made again.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

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
    /// Whether an answer that breaks off after some of it was given out begins anew; true. Without that, the call
    /// fails, and the caller decides what becomes of the part that has come.
    pub restart_cut_streams: bool,
    /// Most time for all attempts and the pauses between them; `None`, the default, for as long as it takes.
    pub deadline: Option<Duration>,
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
            restart_cut_streams: true,
            deadline: None,
        }
    }
}

impl RetryPolicy {
    pub(super) fn pauses(&self) -> ExponentialBackoff {
        let builder = ExponentialBuilder::new()
            .with_min_delay(self.base_delay)
            .with_factor(self.factor)
            .with_max_delay(self.max_delay)
            .with_max_times(usize::try_from(self.max_attempts.saturating_sub(1)).unwrap_or(usize::MAX));
        if self.jitter { builder.with_jitter().build() } else { builder.build() }
    }
}
