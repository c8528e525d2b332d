//! What the engine takes from its host instead of reading it from the machine: time and fresh ids.

use std::fmt;
use std::sync::Arc;

use crate::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// A source of identifiers that are unique within a session's lifetime, and across sessions for the default source.
pub trait IdSource: Send + Sync {
    /// A fresh identifier.
    fn next_id(&self) -> String;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::now();
        let millis = match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        };
        Timestamp::from_millis(millis)
    }
}

/// UUIDs of version 7: unique everywhere, sorted by time of creation.
#[derive(Clone, Copy, Debug, Default)]
pub struct UuidIds;

impl IdSource for UuidIds {
    fn next_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

/// The clock and the id source of one session.
#[derive(Clone)]
pub struct Ambient {
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdSource>,
}

impl Ambient {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh identifier.
    #[must_use]
    pub fn next_id(&self) -> String {
        self.ids.next_id()
    }
}

impl Default for Ambient {
    /// The machine's clock and version 7 UUIDs.
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(UuidIds) }
    }
}

impl fmt::Debug for Ambient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ambient").finish_non_exhaustive()
    }
}
