//! Temporary folders with files in them.

#![expect(
    clippy::disallowed_methods,
    reason = "a scratch folder has no reader that could see a half-written file"
)]
#![expect(clippy::panic, reason = "a test whose folder cannot be made or read must fail at once")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// A folder for one test, removed when dropped.
///
/// Paths in calls are relative, with `/`. A method that fails panics with the path in its message,
/// which is what a test wants.
#[derive(Debug)]
pub struct TempWorkspace {
    /// Removes the folder.
    _folder: TempDir,
    root: PathBuf,
}

impl TempWorkspace {
    /// An empty folder.
    ///
    /// # Panics
    ///
    /// When the folder cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("robota-test-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder can be made: {error}"));
        // Some systems reach their temporary folder through a symlink; tools show resolved paths.
        let root = check(folder.path(), "resolve", folder.path().canonicalize());
        Self { _folder: folder, root }
    }

    /// The same workspace with the file `path`; folders on the way are made.
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    #[must_use]
    pub fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.write(path, contents);
        self
    }

    /// The same workspace with the folder `path`.
    ///
    /// # Panics
    ///
    /// When the folder cannot be made.
    #[must_use]
    pub fn dir(self, path: &str) -> Self {
        let full = self.path(path);
        check(&full, "make", fs::create_dir_all(&full));
        self
    }

    /// The same workspace with the executable file `path`.
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    #[must_use]
    #[cfg(unix)]
    pub fn script(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, contents);
        let full = self.path(path);
        check(&full, "make executable", fs::set_permissions(&full, fs::Permissions::from_mode(0o755)));
        self
    }

    /// The same workspace with a symlink at `path` that points to `target`, as given.
    ///
    /// # Panics
    ///
    /// When the link cannot be made.
    #[must_use]
    #[cfg(unix)]
    pub fn symlink(self, path: &str, target: impl AsRef<Path>) -> Self {
        let full = self.path(path);
        self.make_parent(&full);
        check(&full, "link", std::os::unix::fs::symlink(target, &full));
        self
    }

    /// Writes the file `path` now; folders on the way are made.
    ///
    /// # Panics
    ///
    /// When the file cannot be written.
    pub fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let full = self.path(path);
        self.make_parent(&full);
        check(&full, "write", fs::write(&full, contents));
    }

    /// The folder, absolute, without symlinks in it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute form of `path`.
    ///
    /// # Panics
    ///
    /// When `path` leaves the workspace.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        let inside =
            Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        assert!(inside, "`{path}` leaves the temporary workspace");
        self.root.join(path)
    }

    /// Whether there is something at `path`.
    ///
    /// # Panics
    ///
    /// When `path` leaves the workspace.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The text of the file `path`.
    ///
    /// # Panics
    ///
    /// When it cannot be read or is not UTF-8.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        let full = self.path(path);
        check(&full, "read", fs::read_to_string(&full))
    }

    /// The whole tree: relative path to contents.
    ///
    /// Bytes that are not UTF-8 are shown as the replacement character. A symlink has the
    /// contents `-> target`; an empty folder has a path that ends in `/` and no contents.
    ///
    /// # Panics
    ///
    /// When something cannot be read.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = check(
                &folder,
                "list",
                fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>),
            );
            if entries.is_empty() && folder != self.root {
                tree.insert(format!("{}/", self.relative(&folder)), String::new());
            }
            for entry in entries {
                let path = entry.path();
                let kind = check(&path, "inspect", entry.file_type());
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_symlink() {
                    let target = check(&path, "follow", fs::read_link(&path));
                    tree.insert(self.relative(&path), format!("-> {}", target.display()));
                } else {
                    let bytes = check(&path, "read", fs::read(&path));
                    tree.insert(self.relative(&path), String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
        tree
    }

    fn make_parent(&self, path: &Path) {
        let parent = path.parent().unwrap_or(&self.root);
        check(parent, "make", fs::create_dir_all(parent));
    }

    fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let parts = relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.collect::<Vec<_>>().join("/")
    }
}

impl Default for TempWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

fn check<T>(path: &Path, action: &str, result: io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_shows_the_whole_tree() {
        let workspace =
            TempWorkspace::new().file("src/a.rs", "fn a() {}\n").dir("empty").file("raw", [0xff, b'x']);
        #[cfg(unix)]
        let workspace = workspace.script("run.sh", "#!/bin/sh\n").symlink("link", "src/a.rs");
        let tree = workspace.snapshot();
        let tree: Vec<(&str, &str)> =
            tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let expected = [
                ("empty/", ""),
                ("link", "-> src/a.rs"),
                ("raw", "\u{fffd}x"),
                ("run.sh", "#!/bin/sh\n"),
                ("src/a.rs", "fn a() {}\n"),
            ];
            assert_eq!(tree, expected);
            let mode = workspace.path("run.sh").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o111, 0o111);
        }
        #[cfg(not(unix))]
        assert_eq!(tree, [("empty/", ""), ("raw", "\u{fffd}x"), ("src/a.rs", "fn a() {}\n")]);
        assert_eq!(workspace.read("src/a.rs"), "fn a() {}\n");
        assert_eq!(workspace.root(), workspace.root().canonicalize().unwrap());
        let root = workspace.root().to_owned();
        drop(workspace);
        assert!(!root.exists());
    }

    #[test]
    #[should_panic(expected = "`../x` leaves the temporary workspace")]
    fn paths_stay_inside() {
        let _ = TempWorkspace::new().path("../x");
    }
}
