//! One change of a file at a time, in the whole process: sessions may share their folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

static BUSY: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
static FREE: Condvar = Condvar::new();

/// Held while the file at `path` is checked and replaced, so that two changes of it never cross; those of other
/// files go on beside it. Blocks until the file is free.
pub(super) fn alone_with(path: &Path) -> Alone {
    let mut busy = busy();
    while busy.contains(path) {
        busy = FREE.wait(busy).unwrap_or_else(PoisonError::into_inner);
    }
    busy.insert(path.to_owned());
    Alone { path: path.to_owned() }
}

/// Nobody else changes the file while this is held.
#[derive(Debug)]
#[must_use = "the file is free again when it is dropped"]
pub(super) struct Alone {
    path: PathBuf,
}

impl Drop for Alone {
    fn drop(&mut self) {
        busy().remove(&self.path);
        FREE.notify_all();
    }
}

fn busy() -> MutexGuard<'static, HashSet<PathBuf>> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn the_same_file_waits_and_another_does_not() {
        let (one, other) = (Path::new("/alone/one"), Path::new("/alone/other"));
        let first = alone_with(one);
        let _beside = alone_with(other);
        let (events, seen) = mpsc::channel();
        let waiting = events.clone();
        let thread = thread::spawn(move || {
            let _second = alone_with(one);
            waiting.send("second").unwrap();
        });
        assert!(busy().contains(one));
        events.send("first").unwrap();
        drop(first);
        thread.join().unwrap();
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), ["first", "second"]);
    }
}
