//! Messages that a damaged log has lost, and what that does to the positions of the others.

use std::ops::Range;

/// The positions no line holds, as the log counts them.
#[derive(Debug, Default)]
pub(super) struct Missing {
    ranges: Vec<Range<usize>>,
    count: usize,
}

impl Missing {
    /// How many messages are missing.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// No line holds these positions; they follow on all noted before.
    pub(super) fn note(&mut self, range: Range<usize>) {
        self.count += range.len();
        self.ranges.push(range);
    }

    /// The history began anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The log keeps the positions below `length`; says how many of those messages there are.
    pub(super) fn truncate(&mut self, length: usize) -> usize {
        for range in &mut self.ranges {
            range.end = range.end.min(length).max(range.start);
        }
        self.ranges.retain(|range| range.start < length);
        self.count = self.ranges.iter().map(ExactSizeIterator::len).sum();
        length - self.count.min(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncating_keeps_what_is_there_below_the_length() {
        let mut missing = Missing::default();
        missing.note(2..4);
        missing.note(7..8);
        assert_eq!(missing.truncate(9), 6);
        assert_eq!(missing.truncate(7), 5);
        assert_eq!(missing.truncate(3), 2);
        assert_eq!(missing.count(), 1);
        assert_eq!(missing.truncate(1), 1);
        assert!(missing.is_empty());
    }
}
