//! Walking a folder the way ripgrep does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::overrides::Override;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::hidden::Hidden;

/// Threads of one walk.
const THREADS: usize = 2;

/// Calls `visit` for every regular file below `root`, or for `root` itself, from several threads
/// and in no order; returns how many folders or files could not be read.
///
/// `.gitignore` and `.ignore` count, also those above `root`; hidden files are visited, `.git` is
/// not; symlinks are not followed. What `only` leaves out is not visited, nor are folders that
/// `hidden` hides; hidden files are for `visit` to leave out. Ends early when `stop` fires.
pub(super) fn each_file(
    root: &Path,
    only: Option<Override>,
    hidden: &Arc<Hidden>,
    stop: &CancellationToken,
    visit: impl Fn(DirEntry) + Sync,
) -> usize {
    let unreadable = AtomicUsize::new(0);
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).require_git(false).git_global(false).threads(THREADS);
    // The root is absolute: the current folder of the process is never asked for.
    walk.current_dir(root.parent().unwrap_or(root));
    let hidden = Arc::clone(hidden);
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() == 0 || (entry.file_name() != ".git" && !(is_folder && hidden.hides(entry.path())))
    });
    if let Some(only) = only {
        walk.overrides(only);
    }
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if stop.is_cancelled() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => visit(entry),
                Ok(_) => {}
                Err(_) => {
                    unreadable.fetch_add(1, Ordering::Relaxed);
                }
            }
            WalkState::Continue
        })
    });
    unreadable.into_inner()
}
