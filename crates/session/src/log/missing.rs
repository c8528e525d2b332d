//! What a damaged log has lost, and what that does to the positions of the messages that are there.

use std::ops::Range;

/// The positions no line holds, as the log counts them, and the messages it does not count any more.
#[derive(Debug, Default)]
pub(super) struct Missing {
    ranges: Vec<Range<usize>>,
    count: usize,
    /// From this position on the log counts so many messages too few: what took them away is lost.
    uncounted: Option<Uncounted>,
}

#[derive(Clone, Copy, Debug)]
struct Uncounted {
    from: usize,
    messages: usize,
}

impl Missing {
    /// The position that comes next in the log, after `there` messages.
    pub(super) fn next_position(&self, there: usize) -> usize {
        (there + self.count).saturating_sub(self.uncounted.map_or(0, |uncounted| uncounted.messages))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.uncounted.is_none()
    }

    /// No line holds these positions; they follow on all noted before.
    pub(super) fn note(&mut self, range: Range<usize>) {
        self.count += range.len();
        self.ranges.push(range);
    }

    /// The log goes on at `position`, with `there` messages that are more than that.
    pub(super) fn note_uncounted(&mut self, position: usize, there: usize) {
        self.clear();
        if let Some(messages) = there.checked_sub(position).filter(|more| *more > 0) {
            self.uncounted = Some(Uncounted { from: position, messages });
        } else {
            self.note(there..position);
        }
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
        // Below, nobody knows which messages the positions stood for; the first are the likeliest.
        self.uncounted = self.uncounted.filter(|uncounted| uncounted.from <= length);
        let uncounted = self.uncounted.map_or(0, |uncounted| uncounted.messages);
        (length + uncounted).saturating_sub(self.count)
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
        assert_eq!(missing.next_position(2), 3);
        assert_eq!(missing.truncate(1), 1);
        assert!(missing.is_empty());
    }

    #[test]
    fn messages_that_the_log_does_not_count_any_more_stay() {
        let mut missing = Missing::default();
        missing.note_uncounted(3, 10);
        assert_eq!(missing.next_position(10), 3);
        missing.note(5..6);
        assert_eq!(missing.next_position(12), 6);
        assert_eq!(missing.truncate(5), 12);
        assert_eq!(missing.truncate(3), 10);
        assert_eq!(missing.truncate(2), 2);
        assert!(missing.is_empty());
    }
}
