//! Time and ids that are the same in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use robota_core::{Ambient, Clock, IdSource, Timestamp};

/// The time at which [`FixedClock::default`] stands: 2026-01-01T00:00:00.000Z.
const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A clock that only moves when it is told to, or by a fixed step with each look.
#[derive(Debug)]
pub struct FixedClock {
    millis: AtomicI64,
    step: i64,
}

impl FixedClock {
    /// A clock that stands at `time`.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self { millis: AtomicI64::new(time.as_millis()), step: 0 }
    }

    /// The same clock, going on by `millis` milliseconds after each look at it.
    #[must_use]
    pub const fn stepping(mut self, millis: i64) -> Self {
        self.step = millis;
        self
    }

    /// Moves the clock by `millis` milliseconds.
    pub fn advance(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock to `time`.
    pub fn set(&self, time: Timestamp) {
        self.millis.store(time.as_millis(), Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    /// A clock that stands at 2026-01-01T00:00:00.000Z.
    fn default() -> Self {
        Self::at(START)
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.fetch_add(self.step, Ordering::SeqCst))
    }
}

/// The ids `id-1`, `id-2` and so on.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn next_id(&self) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// A clock that stands at 2026-01-01T00:00:00.000Z, and the ids `id-1`, `id-2` and so on.
#[must_use]
pub fn fixed_ambient() -> Ambient {
    Ambient { clock: Arc::new(FixedClock::default()), ids: Arc::new(CountingIds::default()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_only_as_told() {
        let clock = FixedClock::default();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00.000Z");
        clock.advance(1_500);
        assert_eq!((clock.now(), clock.now()), (clock.now(), clock.now()));
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:01.500Z");
        let clock = FixedClock::at(Timestamp::from_millis(10)).stepping(5);
        assert_eq!([clock.now(), clock.now()].map(Timestamp::as_millis), [10, 15]);
        clock.set(Timestamp::from_millis(0));
        assert_eq!(clock.now().as_millis(), 0);
    }

    #[test]
    fn ids_are_counted_for_each_ambient() {
        let (first, second) = (fixed_ambient(), fixed_ambient());
        assert_eq!([first.next_id(), first.next_id(), second.next_id()], ["id-1", "id-2", "id-1"]);
    }
}
