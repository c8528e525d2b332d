//! The folders a session works in, and how a path the model wrote becomes one of the file system.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::builtin::PathFilter;
use crate::files::{ReadState, Remote, name};

/// The most symbolic links followed for one path, as in the Linux kernel.
const MAX_LINKS: usize = 40;

/// The folders of a session, shared by its tools; cloning gives another handle to the same one.
///
/// It also remembers which files the model has seen, so that a change of an unseen file is refused.
#[derive(Clone)]
pub struct Workspace {
    shared: Arc<Shared>,
    /// What searches of this handle leave out.
    unreadable: Option<PathFilter>,
    /// Whether files may be changed that nothing has read.
    changes_unseen: bool,
}

#[derive(Debug)]
struct Shared {
    roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    current: RwLock<PathBuf>,
    reads: ReadState,
    /// Where the files are, when not on this machine.
    remote: Option<Arc<dyn Remote>>,
}

impl Workspace {
    /// A workspace in `root` and `additional` folders, all absolute; work begins in `root`.
    ///
    /// `home` is what `~/` stands for; without it, `~` is an ordinary name.
    #[must_use]
    pub fn new(
        root: impl AsRef<Path>,
        additional: impl IntoIterator<Item = PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let root = resolve_links(root.as_ref());
        let additional = additional.into_iter().map(|folder| resolve_links(&folder));
        let roots = std::iter::once(root.clone()).chain(additional).collect();
        let shared =
            Shared { roots, home, current: RwLock::new(root), reads: ReadState::default(), remote: None };
        Self { shared: Arc::new(shared), unreadable: None, changes_unseen: false }
    }

    /// A workspace in the folder `root` of another file system.
    pub(crate) fn elsewhere(root: &Path, remote: Arc<dyn Remote>) -> Self {
        let root = without_dots(root);
        let current = RwLock::new(root.clone());
        let (roots, reads) = (vec![root], ReadState::default());
        let shared = Shared { roots, home: None, current, reads, remote: Some(remote) };
        Self { shared: Arc::new(shared), unreadable: None, changes_unseen: false }
    }

    /// A handle that also changes files which nothing has read: for the calls of a person, who knows them.
    #[must_use]
    pub fn changing_unseen(self) -> Self {
        Self { changes_unseen: true, ..self }
    }

    /// Whether files may be changed that nothing has read.
    pub(crate) const fn changes_unseen(&self) -> bool {
        self.changes_unseen
    }

    /// Where the files are, when not on this machine.
    pub(crate) fn remote(&self) -> Option<&Arc<dyn Remote>> {
        self.shared.remote.as_ref()
    }

    /// A handle whose searches leave out what `unreadable` holds for.
    pub(crate) fn leaving_out(self, unreadable: Option<PathFilter>) -> Self {
        Self { unreadable, ..self }
    }

    /// Whether searches leave out `path`, which is absolute.
    pub(crate) fn is_left_out(&self, path: &Path) -> bool {
        self.unreadable.as_ref().is_some_and(|unreadable| unreadable(path))
    }

    /// The main folder, with symlinks resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.shared.roots.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// The main folder and the additional ones, with symlinks resolved.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        &self.shared.roots
    }

    /// Whether `resolved`, as [`Workspace::resolve`] gives it, lies in one of the folders.
    #[must_use]
    pub fn contains(&self, resolved: &Path) -> bool {
        self.shared.roots.iter().any(|root| resolved.starts_with(root))
    }

    /// The folder relative paths start from and commands run in.
    #[must_use]
    pub fn current_dir(&self) -> PathBuf {
        self.shared.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves to `path`, written like any path of a call.
    ///
    /// # Errors
    ///
    /// When it is not a folder; the current folder then stays.
    pub fn change_dir(&self, path: &str) -> io::Result<()> {
        let resolved = self.resolve(path);
        if !self.is_folder(&resolved) {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        *self.shared.current.write().unwrap_or_else(PoisonError::into_inner) = resolved;
        Ok(())
    }

    /// Moves to `folder`, which is absolute, when it is a folder of the workspace; whether it is.
    pub(crate) fn enter(&self, folder: &Path) -> bool {
        let resolved = self.resolve_path(folder);
        let inside = self.contains(&resolved) && self.is_folder(&resolved);
        if inside {
            *self.shared.current.write().unwrap_or_else(PoisonError::into_inner) = resolved;
        }
        inside
    }

    /// Moves to `folder`, which is resolved and known to be one of the workspace.
    pub(crate) fn settle(&self, folder: PathBuf) {
        *self.shared.current.write().unwrap_or_else(PoisonError::into_inner) = folder;
    }

    /// The absolute path that `written` means: relative to the current folder, `~/` from home,
    /// symlinks (dangling ones too) and `..` resolved as far as the path exists, lexically beyond.
    ///
    /// A path with escapes such as `\xE9`, which is not there under these letters, means the one that
    /// [`Workspace::display`] shows so.
    #[must_use]
    pub fn resolve(&self, written: &str) -> PathBuf {
        let joined = self.join(written);
        let resolved = self.resolve_path(&joined);
        if self.remote().is_some() {
            // Asking a sandbox takes a while, and this is asked on threads that must not wait for it.
            return resolved;
        }
        let Some(other) = name::unescaped(&joined) else { return resolved };
        let other = self.resolve_path(&other);
        if self.look(&resolved).is_err() && self.look(&other).is_ok() { other } else { resolved }
    }

    /// The absolute path that `written` means, links and `..` as they are written.
    pub(crate) fn join(&self, written: &str) -> PathBuf {
        match (written.strip_prefix('~'), &self.shared.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.current_dir().join(written),
        }
    }

    /// A path for the model: relative to the current folder where it lies inside, else absolute.
    /// Always one line: control characters in names are escaped, a line break as `\n`, and so are bytes that are
    /// not UTF-8, as `\xE9`.
    #[must_use]
    pub fn display(&self, resolved: &Path) -> String {
        match resolved.strip_prefix(self.current_dir()) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => name::shown(inside),
            Err(_) => name::shown(resolved),
        }
    }

    /// What the model has seen of the files.
    pub(crate) fn reads(&self) -> &ReadState {
        &self.shared.reads
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Workspace").field(&self.shared).finish()
    }
}

/// Follows `path` from the root, component by component.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    let mut pending: VecDeque<OsString> = steps(path);
    let mut links = 0;
    while let Some(step) = pending.pop_front() {
        if step == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(step);
        match fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                for step in steps(&target).into_iter().rev() {
                    pending.push_front(step);
                }
            }
            _ => resolved = next,
        }
    }
    resolved
}

/// `path` with its `..` taken away by names alone.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for step in steps(path) {
        if step == ".." {
            plain.pop();
        } else {
            plain.push(step);
        }
    }
    plain
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let meaningful =
        path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    meaningful.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_resolved_through_links_dots_and_home() {
        let temp = tempfile::tempdir().unwrap();
        let base = resolve_links(temp.path());
        fs::create_dir_all(base.join("project/src")).unwrap();
        fs::create_dir_all(base.join("elsewhere/deep")).unwrap();
        symlink(base.join("elsewhere/deep"), base.join("project/link")).unwrap();
        symlink("../missing/target", base.join("project/dangling")).unwrap();
        symlink("loop", base.join("project/loop")).unwrap();
        let workspace = Workspace::new(base.join("project"), [], Some(base.join("home")));

        let cases = [
            ("src/./a.rs", "project/src/a.rs"),
            ("link/../x", "elsewhere/x"),
            ("dangling", "missing/target"),
            ("missing/../b", "project/b"),
            ("~/notes", "home/notes"),
            ("~", "home"),
            ("~other/x", "project/~other/x"),
            ("loop", "project/loop"),
        ];
        for (written, expected) in cases {
            assert_eq!(workspace.resolve(written), base.join(expected), "{written}");
        }
        assert_eq!(workspace.resolve("/../../etc"), Path::new("/etc"));
        assert!(workspace.contains(&workspace.resolve("src/new")));
        assert!(!workspace.contains(&workspace.resolve("link/x")));
    }

    #[test]
    fn the_current_folder_moves_only_to_a_folder() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("sub")).unwrap();
        let workspace = Workspace::new(temp.path(), [], None);
        workspace.change_dir("sub").unwrap();
        assert!(workspace.change_dir("nowhere").is_err());
        assert_eq!(workspace.current_dir(), workspace.root().join("sub"));
        assert_eq!(workspace.display(&workspace.resolve("a")), "a");
        assert_eq!(workspace.display(&workspace.current_dir()), ".");
        assert_eq!(workspace.display(workspace.root()), workspace.root().to_str().unwrap());
    }
}
