//! How the positions that a log counts differ from those of the messages it holds.

use std::ops::Range;

/// What a log counts and no line holds: lost messages. Or the other way round: messages that are there and
/// that the log no longer counts, because the line that took them away, or a number, is damaged.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// The positions no line holds, as the log counts them, in order.
    ranges: Vec<Range<usize>>,
    count: usize,
    /// How many more messages there are than the log counts. Nothing is missing then.
    surplus: usize,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the log counts otherwise than its messages are.
    pub(super) fn shifts(&self) -> bool {
        self.count > 0 || self.surplus > 0
    }

    /// How many messages the log counts where `held` are there.
    pub(super) fn told(&self, held: usize) -> usize {
        held.saturating_add(self.count).saturating_sub(self.surplus)
    }

    /// The log counts `length` messages where `held` are there, no fewer than before. Says which of them no
    /// line held.
    pub(super) fn raise(&mut self, held: usize, length: usize) -> Option<Range<usize>> {
        let more = length.saturating_sub(self.told(held));
        let known = more.min(self.surplus);
        self.surplus -= known;
        let lost = length - (more - known)..length;
        if lost.is_empty() {
            return None;
        }
        self.count += lost.len();
        self.ranges.push(lost.clone());
        Some(lost)
    }

    /// The log counts only `length` messages where `held` are there: what was missing last was never there.
    /// Where that does not explain it, there is a surplus.
    pub(super) fn lower(&mut self, held: usize, length: usize) {
        let mut fewer = self.told(held).saturating_sub(length);
        while fewer > 0
            && let Some(mut last) = self.ranges.pop()
        {
            let gone = fewer.min(last.len());
            last.end -= gone;
            self.count -= gone;
            fewer -= gone;
            if !last.is_empty() {
                self.ranges.push(last);
            }
        }
        self.surplus += fewer;
    }

    /// Whether no line holds the message for `position` so far.
    pub(super) fn holds(&self, position: usize) -> bool {
        self.ranges.get(self.range_from(position)).is_some_and(|range| range.start <= position)
    }

    /// The message for `position` is found after all.
    pub(super) fn fill(&mut self, position: usize) {
        if !self.holds(position) {
            return;
        }
        let at = self.range_from(position);
        let Range { start, end } = self.ranges.remove(at);
        self.count -= 1;
        let rest = [start..position, position + 1..end];
        let rest = rest.into_iter().filter(|range| !range.is_empty());
        self.ranges.splice(at..at, rest);
    }

    /// Where in the history the message stands, or belongs, that the log counts as number `position`.
    pub(super) fn place(&self, position: usize) -> usize {
        let before = self.ranges.iter().map(|range| range.end.min(position).saturating_sub(range.start));
        position.saturating_add(self.surplus).saturating_sub(before.sum())
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
        self.place(length)
    }

    /// The first range that ends behind `position`.
    fn range_from(&self, position: usize) -> usize {
        self.ranges.partition_point(|range| range.end <= position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten messages of which 2, 3 and 7 are missing.
    fn three_missing() -> Missing {
        let mut missing = Missing::default();
        assert_eq!(missing.raise(2, 4), Some(2..4));
        assert_eq!(missing.raise(5, 8), Some(7..8));
        assert_eq!(missing.told(7), 10);
        missing
    }

    #[test]
    fn truncating_keeps_what_is_there_below_the_length() {
        let mut missing = three_missing();
        assert_eq!(missing.truncate(9), 6);
        assert_eq!(missing.truncate(7), 5);
        assert_eq!(missing.truncate(3), 2);
        assert_eq!(missing.told(2), 3);
        assert_eq!(missing.truncate(1), 1);
        assert!(!missing.shifts());
    }

    #[test]
    fn a_message_that_is_found_late_has_its_place() {
        let mut missing = three_missing();
        assert_eq!(
            [1, 2, 3, 4, 7, 8, 9].map(|at| missing.holds(at)),
            [false, true, true, false, true, false, false]
        );
        assert_eq!(missing.place(3), 2);
        missing.fill(3);
        assert_eq!((missing.told(8), missing.place(4), missing.place(9)), (10, 3, 7));
        missing.fill(2);
        missing.fill(7);
        assert!(!missing.shifts());
    }

    #[test]
    fn a_lower_count_takes_back_what_was_promised_last_and_then_leaves_a_surplus() {
        let mut missing = three_missing();
        missing.lower(7, 8);
        assert_eq!((missing.told(7), missing.holds(2), missing.holds(3)), (8, true, false));
        missing.lower(7, 5);
        assert_eq!((missing.told(7), missing.is_empty(), missing.shifts()), (5, true, true));
        assert_eq!(missing.raise(7, 9), Some(7..9));
    }
}
