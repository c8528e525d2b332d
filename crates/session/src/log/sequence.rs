//! Which events of a log have been seen.

use std::collections::BTreeMap;

/// No event has a higher number: what JSON readers of every kind can tell from its neighbours. A session
/// that logs a million events a second comes this far in 285 years.
const HIGHEST: u64 = 1 << 53;

/// Tells events seen before from new ones, also when lines are out of order.
///
/// Joined and left-out events leave holes in the numbers of a log, so holes are remembered by range.
pub(crate) struct Sequence {
    last: u64,
    /// Numbers below `last` that no line has had: first to last of each hole.
    holes: BTreeMap<u64, u64>,
}

/// Whether an event was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    New,
    Before,
    /// No event has such a number.
    Impossible,
}

impl Sequence {
    /// Whether an event may have the number `seq`.
    pub(crate) const fn may_have(seq: u64) -> bool {
        seq <= HIGHEST
    }

    /// Everything up to `seq` was seen.
    pub(crate) fn after(seq: u64) -> Self {
        Self { last: seq.min(HIGHEST), holes: BTreeMap::new() }
    }

    /// The highest number seen.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Takes note of the event `seq`.
    pub(crate) fn see(&mut self, seq: u64) -> Seen {
        if !Self::may_have(seq) {
            return Seen::Impossible;
        }
        if seq > self.last {
            if seq - self.last > 1 {
                self.holes.insert(self.last + 1, seq - 1);
            }
            self.last = seq;
            return Seen::New;
        }
        let Some((&from, &to)) = self.holes.range(..=seq).next_back().filter(|(_, to)| seq <= **to) else {
            return Seen::Before;
        };
        self.holes.remove(&from);
        if from < seq {
            self.holes.insert(from, seq - 1);
        }
        if seq < to {
            self.holes.insert(seq + 1, to);
        }
        Seen::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_events_are_new_once() {
        let mut sequence = Sequence::after(3);
        let seen: Vec<(u64, bool)> = [3, 4, 9, 6, 6, 5, 8, 9, 1, 7, 10]
            .into_iter()
            .map(|seq| (seq, sequence.see(seq) == Seen::New))
            .collect();
        let expected = [
            (3, false),
            (4, true),
            (9, true),
            (6, true),
            (6, false),
            (5, true),
            (8, true),
            (9, false),
            (1, false),
            (7, true),
            (10, true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(sequence.last(), 10);
        assert!(sequence.holes.is_empty());
        assert_eq!(sequence.see(u64::MAX), Seen::Impossible);
        assert_eq!((sequence.see(11), sequence.last()), (Seen::New, 11));
    }
}
