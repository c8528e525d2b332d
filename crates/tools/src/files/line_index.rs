//! Where lines of long files begin, so that paging on through a file does not count from its start.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::slice::Place;
use super::stat::Stat;

/// Files remembered.
const MAX_FILES: usize = 16;
/// Places remembered of each.
const MAX_PLACES: usize = 1_024;
/// Nearer to the start there is nothing to be saved.
const MIN_OFFSET: u64 = 1024 * 1024;

/// Places in the files that were read last, as long as they stay as they were.
#[derive(Debug, Default)]
pub(crate) struct LineIndex {
    /// The one used last stands first.
    files: Mutex<VecDeque<Known>>,
}

#[derive(Debug)]
struct Known {
    path: PathBuf,
    stamp: Stat,
    /// In their order.
    places: Vec<Place>,
}

impl LineIndex {
    /// The known place nearest before line `first`; the start of the file when there is none.
    pub(super) fn before(&self, path: &Path, stamp: Stat, first: usize) -> Place {
        let files = self.files();
        let known = files.iter().find(|known| known.path == path && known.stamp == stamp);
        let places = known.map(|known| known.places.as_slice()).unwrap_or_default();
        let after = places.partition_point(|place| place.passed < first);
        after.checked_sub(1).and_then(|at| places.get(at)).copied().unwrap_or_default()
    }

    /// Remembers places of the file as `stamp` describes it.
    pub(super) fn add(&self, path: &Path, stamp: Stat, places: &[Place]) {
        let mut places = places.iter().filter(|place| place.offset >= MIN_OFFSET).peekable();
        if places.peek().is_none() {
            return;
        }
        let mut files = self.files();
        let at = files.iter().position(|known| known.path == path);
        let known = at.and_then(|at| files.remove(at)).filter(|known| known.stamp == stamp);
        let mut known = known.unwrap_or_else(|| Known { path: path.to_owned(), stamp, places: Vec::new() });
        known.places.extend(places);
        known.places.sort_unstable_by_key(|place| place.offset);
        known.places.dedup();
        while known.places.len() > MAX_PLACES {
            let mut keep = false;
            known.places.retain(|_| {
                keep = !keep;
                keep
            });
        }
        files.push_front(known);
        files.truncate(MAX_FILES);
    }

    fn files(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::stat::Kind;

    fn stamp(size: u64) -> Stat {
        Stat { kind: Kind::File, size, modified: (1, 0), identity: (1, 1) }
    }

    fn place(line: usize) -> Place {
        Place { passed: line, offset: line as u64 * MIN_OFFSET }
    }

    #[test]
    fn the_nearest_place_before_a_line_is_found_while_the_file_stays() {
        let (index, path) = (LineIndex::default(), Path::new("/a"));
        index.add(path, stamp(9), &[place(40), place(10), Place { passed: 1, offset: 5 }]);
        let found = |line| index.before(path, stamp(9), line).passed;
        assert_eq!([2, 10, 11, 40, 41, 99].map(found), [0, 0, 10, 10, 40, 40]);
        assert_eq!(index.before(path, stamp(8), 99), Place::default());
        index.add(path, stamp(8), &[place(3)]);
        assert_eq!(index.before(path, stamp(8), 99), place(3));
    }

    #[test]
    fn it_stays_small() {
        let index = LineIndex::default();
        for file in 0..100 {
            let path = PathBuf::from(format!("/{file}"));
            index.add(&path, stamp(1), &(1..5_000).map(place).collect::<Vec<_>>());
            index.add(&path, stamp(1), &(5_000..5_900).map(place).collect::<Vec<_>>());
        }
        let files = index.files();
        assert_eq!(files.len(), MAX_FILES);
        assert!(files.iter().all(|known| known.places.len() <= MAX_PLACES));
    }
}
