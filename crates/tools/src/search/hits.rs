//! The first hits of a search by path, whatever order they are found in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::sink::FileHits;

/// Keeps the hits of the first files by path, up to a limit of units in all (lines, or files).
///
/// What it gives back depends on the files alone, not on the order they are searched in.
#[derive(Debug)]
pub(super) struct FirstHits {
    limit: usize,
    /// There are as many as the limit; once so, always so.
    full: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) files: BTreeMap<PathBuf, FileHits>,
    units: usize,
    /// There are more hits than kept.
    pub(super) more: bool,
    /// Files with hits, kept or not.
    pub(super) found_files: usize,
    /// Matching lines in all files searched to their end.
    pub(super) matches: u64,
}

/// What a file is still worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Its hits may be among the first.
    Hits,
    /// It only matters whether it has any.
    Presence,
    /// It changes nothing.
    Nothing,
}

impl FirstHits {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, full: AtomicBool::new(false), kept: Mutex::default() }
    }

    pub(super) fn worth(&self, path: &Path) -> Worth {
        if !self.full.load(Ordering::Relaxed) {
            return Worth::Hits;
        }
        let kept = self.lock();
        match kept.files.last_key_value() {
            Some((last, _)) if path > last.as_path() => {
                if kept.more {
                    Worth::Nothing
                } else {
                    Worth::Presence
                }
            }
            _ => Worth::Hits,
        }
    }

    pub(super) fn add(&self, path: PathBuf, hits: FileHits) {
        if hits.matches == 0 {
            return;
        }
        let mut kept = self.lock();
        kept.found_files += 1;
        kept.matches += hits.matches;
        kept.more |= hits.cut;
        kept.units += units(&hits);
        kept.files.insert(path, hits);
        while let Some(last) = kept.files.last_entry() {
            let last_units = units(last.get());
            if kept.units - last_units < self.limit {
                break;
            }
            kept.files.pop_last();
            kept.units -= last_units;
            kept.more = true;
        }
        if kept.units >= self.limit {
            self.full.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn into_kept(self) -> Kept {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines where lines are collected, else the file itself.
fn units(hits: &FileHits) -> usize {
    hits.lines.len().max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits(lines: usize) -> FileHits {
        FileHits {
            lines: vec![":1:x".to_owned(); lines],
            matches: lines as u64,
            cut: false,
            binary_from: None,
        }
    }

    fn first(files: &[(usize, usize)]) -> (Vec<(PathBuf, usize)>, bool) {
        let first = FirstHits::new(10);
        for (name, lines) in files {
            let path = PathBuf::from(format!("{name:03}"));
            match first.worth(&path) {
                Worth::Nothing => {}
                Worth::Presence => first.add(path, FileHits { cut: true, ..hits(1) }),
                Worth::Hits => first.add(path, hits(*lines)),
            }
        }
        let kept = first.into_kept();
        (kept.files.into_iter().map(|(path, hits)| (path, hits.lines.len())).collect(), kept.more)
    }

    proptest! {
        #[test]
        fn the_order_of_searching_does_not_show(
            files in prop::collection::btree_map(0..200_usize, 1..6_usize, 0..12).prop_flat_map(|files| {
                let files: Vec<_> = files.into_iter().collect();
                (Just(files.clone()), Just(files).prop_shuffle())
            })
        ) {
            let total: usize = files.0.iter().map(|(_, lines)| lines).sum();
            let sorted = first(&files.0);
            prop_assert_eq!(&first(&files.1), &sorted);
            let kept: usize = sorted.0.iter().map(|(_, lines)| lines).sum();
            prop_assert_eq!(sorted.1, kept < total);
            prop_assert!(kept >= total.min(10));
        }
    }
}
