//! Paths as the text that patterns are matched against.

use std::path::{Component, Path, PathBuf};

/// The folders that patterns may be relative to, as texts.
///
/// A text is absolute, separated by `/`, without `.`, `..` and a separator at its end; the root of
/// the file system is the empty text.
#[derive(Clone, Debug)]
pub(super) struct Places {
    roots: Vec<String>,
    cwd: PathBuf,
    home: Option<String>,
}

impl Places {
    pub(super) fn new(roots: &[PathBuf], cwd: &Path, home: Option<&Path>) -> Self {
        let roots = roots.iter().map(|root| text_of(root)).collect();
        Self { roots, cwd: cwd.to_owned(), home: home.map(text_of) }
    }

    /// Every root of the workspace.
    pub(super) fn roots(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(String::as_str)
    }

    /// The working directory, from which relative paths start.
    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The user's home folder.
    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The folder `up` levels above the first root.
    pub(super) fn root_above(&self, up: usize) -> Option<&str> {
        let mut folder = self.roots.first()?.as_str();
        for _ in 0..up {
            folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        Some(folder)
    }

    /// Whether `path` is a root or lies below one.
    pub(super) fn contain(&self, path: &str) -> bool {
        self.roots()
            .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    /// The path that `requested` names when nothing on the way is a symlink.
    pub(super) fn literal(&self, requested: &str) -> String {
        if let Some(home) = self.home()
            && let Some(rest) = requested.strip_prefix('~')
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return text_of(Path::new(&format!("{home}{rest}")));
        }
        text_of(&self.cwd.join(requested))
    }
}

/// Whether `path` is absolute and free of `..`, so that its text says where it leads.
pub(super) fn is_settled(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// `path` as text; `..` takes the name before it away.
pub(super) fn text_of(path: &Path) -> String {
    let mut text = String::with_capacity(path.as_os_str().len() + 1);
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir => text.truncate(text.rfind('/').unwrap_or(0)),
            Component::Normal(name) => {
                text.push('/');
                text.push_str(&name.to_string_lossy());
            }
            Component::Prefix(drive) => {
                text.push('/');
                text.push_str(drive.as_os_str().to_string_lossy().trim_start_matches(r"\\?\"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_form() {
        for (path, text) in [("/", ""), ("/a/./b//c/", "/a/b/c"), ("/a/../../b", "/b"), ("/a/b/..", "/a")] {
            assert_eq!(text_of(Path::new(path)), text);
        }
        assert!(!is_settled(Path::new("/a/../b")));
        assert!(!is_settled(Path::new("a")));
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_outside() {
        let places = Places::new(&[PathBuf::from("/work/src")], Path::new("/work/src"), None);
        assert!(places.contain("/work/src") && places.contain("/work/src/x"));
        assert!(!places.contain("/work/src2") && !places.contain("/work"));
    }
}
