//! The newest of many files, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

/// Keeps the `limit` newest files it is shown; of equally old ones the first by path.
#[derive(Debug)]
pub(super) struct Newest {
    limit: usize,
    seen: usize,
    /// The least of the kept files is on top.
    kept: BinaryHeap<Reverse<Ranked>>,
}

/// Greater is newer, and among equally new ones earlier by path.
type Ranked = ((i64, i64), Reverse<PathBuf>);

impl Newest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, seen: 0, kept: BinaryHeap::new() }
    }

    /// Shows it a file modified at `modified` (seconds and nanoseconds).
    pub(super) fn show(&mut self, modified: (i64, i64), path: PathBuf) {
        self.seen += 1;
        let shown = Reverse((modified, Reverse(path)));
        if self.kept.len() < self.limit {
            self.kept.push(shown);
        } else if let Some(mut least) = self.kept.peek_mut()
            && shown < *least
        {
            *least = shown;
        }
    }

    /// Shows it what another was shown.
    pub(super) fn merge(&mut self, other: Self) {
        let (seen, kept) = (self.seen, other.kept);
        for Reverse((modified, Reverse(path))) in kept {
            self.show(modified, path);
        }
        self.seen = seen + other.seen;
    }

    /// How many files it was shown.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// The kept files, newest first.
    pub(super) fn into_paths(self) -> Vec<PathBuf> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(path)))| path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_in_order() {
        let mut newest = Newest::new(3);
        for (modified, path) in [(5, "e"), (9, "b"), (1, "x"), (9, "a"), (7, "c")] {
            newest.show((modified, 0), PathBuf::from(path));
        }
        let mut others = Newest::new(3);
        for (modified, path) in [(9, "d"), (2, "y"), (1, "z"), (0, "w")] {
            others.show((modified, 0), PathBuf::from(path));
        }
        newest.merge(others);
        assert_eq!(newest.seen(), 9);
        assert_eq!(newest.into_paths(), ["a", "b", "d"].map(PathBuf::from));
    }
}
