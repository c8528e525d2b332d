//! Walking a folder the way ripgrep does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use ignore::overrides::Override;
use ignore::types::Types;
use ignore::{WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::hidden::Hidden;
use super::remote_walk;
use crate::files::exact;
use crate::workspace::Workspace;

/// The most threads of one walk.
const MAX_THREADS: usize = 8;
/// Entries that a thread may meet before it looks whether to stop.
const STOP_EVERY: u32 = 16;
/// A name by which ripgrep knows files like `.ignore`, and which win over those.
pub(super) const RIPGREP_IGNORE: &str = ".rgignore";
/// What stands in the top folder of a repository.
pub(super) const REPOSITORY: [&str; 2] = [".git", ".jj"];

/// Which files below a folder are met.
///
/// `.rgignore`, `.ignore`, `.gitignore` and `.git/info/exclude` count, also those above the root; the last two up to
/// the top of the repository, where the root lies in one. Hidden files are met, `.git` is not entered; symlinks are
/// not followed. Folders that `hidden` hides are not entered; files are for the visitor to leave out.
pub(super) struct Walk<'a> {
    pub(super) workspace: &'a Workspace,
    /// A folder, or one file.
    pub(super) root: &'a Path,
    /// What it leaves out is not met, and what it names is met although it is ignored.
    pub(super) only: Option<Override>,
    pub(super) types: Option<Types>,
    /// Ignore files do not count.
    pub(super) no_ignore: bool,
    /// The most levels below the root.
    pub(super) max_depth: Option<usize>,
    pub(super) hidden: &'a Arc<Hidden>,
    pub(super) stop: &'a CancellationToken,
}

/// How a walk went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Walked {
    /// Folders or files that could not be read.
    pub(super) unreadable: usize,
    /// It ended at a limit and not everything was met.
    pub(super) cut: bool,
}

impl Walk<'_> {
    /// Gives every regular file below the root, or the root itself, to one of the visitors that `visitor` makes,
    /// one for each thread, in no order. Ends early when `stop` fires.
    pub(super) fn each_file<V>(self, visitor: impl Fn() -> V + Sync) -> Walked
    where
        V: FnMut(PathBuf) + Send,
    {
        match self.workspace.remote().cloned() {
            Some(remote) => remote_walk::each_file(&self, remote.as_ref(), visitor),
            None => self.each_local_file(visitor),
        }
    }

    fn each_local_file<V>(self, visitor: impl Fn() -> V + Sync) -> Walked
    where
        V: FnMut(PathBuf) + Send,
    {
        let unreadable = AtomicUsize::new(0);
        let stop = self.stop;
        self.builder().build_parallel().run(|| {
            let mut visit = visitor();
            let unreadable = &unreadable;
            let mut met: u32 = 0;
            Box::new(move |entry| {
                met = met.wrapping_add(1);
                if met % STOP_EVERY == 1 && stop.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                        visit(entry.into_path());
                    }
                    Ok(_) => {}
                    Err(_) => {
                        unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                }
                WalkState::Continue
            })
        });
        Walked { unreadable: unreadable.into_inner(), cut: false }
    }

    /// Whether the root lies in a repository, whose top ends what `.gitignore` files above it say. Outside of one
    /// they count all the same.
    pub(super) fn in_repository(&self) -> bool {
        let holds = |folder: &Path, name| match self.workspace.look(&folder.join(name)) {
            Ok(_) => true,
            Err(error) => exact::is_link_error(&error),
        };
        self.root.ancestors().any(|folder| REPOSITORY.into_iter().any(|name| holds(folder, name)))
    }

    fn builder(self) -> WalkBuilder {
        let mut walk = WalkBuilder::new(self.root);
        walk.hidden(false).git_global(false).max_depth(self.max_depth).threads(threads());
        walk.require_git(self.in_repository());
        if self.no_ignore {
            walk.ignore(false).git_ignore(false).git_exclude(false).parents(false);
        } else {
            walk.add_custom_ignore_filename(RIPGREP_IGNORE);
        }
        // The root is absolute: the current folder of the process is never asked for.
        walk.current_dir(self.root.parent().unwrap_or(self.root));
        let hidden = Arc::clone(self.hidden);
        walk.filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || (entry.file_name() != ".git" && !(is_folder && hidden.hides(entry.path())))
        });
        if let Some(only) = self.only {
            walk.overrides(only);
        }
        if let Some(types) = self.types {
            walk.types(types);
        }
        walk
    }
}

fn threads() -> usize {
    available_parallelism().map_or(2, usize::from).clamp(2, MAX_THREADS)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_walk_stops_in_the_middle() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(temp.path(), [], None);
        for file in 0..2_000 {
            let path = workspace.root().join(file.to_string());
            OpenOptions::new().create_new(true).append(true).open(path).unwrap();
        }
        let stop = CancellationToken::new();
        let visited = AtomicUsize::new(0);
        let walk = Walk {
            workspace: &workspace,
            root: workspace.root(),
            only: None,
            types: None,
            no_ignore: false,
            max_depth: None,
            hidden: &Arc::new(Hidden::new(&workspace, ".", workspace.root())),
            stop: &stop,
        };
        walk.each_file(|| {
            |_| {
                if visited.fetch_add(1, Ordering::Relaxed) == 100 {
                    stop.cancel();
                }
            }
        });
        let visited = visited.into_inner();
        let after_the_stop = threads() * usize::try_from(STOP_EVERY).unwrap();
        assert!(visited > 100 && visited <= 101 + after_the_stop, "{visited}");
    }
}
