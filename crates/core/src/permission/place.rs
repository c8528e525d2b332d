//! Paths as the text that patterns are matched against.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::PermissionPolicy;

/// The characters from here on, which mean nothing to anybody, stand for bytes that are no text.
const NO_TEXT: u32 = 0x10_FE00;

/// The folders that patterns may be relative to, as texts.
///
/// A text is absolute, separated by `/`, without `.`, `..` and a separator at its end; the root of
/// the file system is the empty text.
#[derive(Clone, Debug)]
pub(super) struct Places {
    roots: Vec<String>,
    cwd: PathBuf,
    home: Option<String>,
    protected: Vec<String>,
}

impl Places {
    pub(super) fn of(policy: &PermissionPolicy) -> Self {
        let texts = |folders: &[PathBuf]| folders.iter().map(|folder| text_of(folder)).collect();
        Self {
            roots: texts(&policy.roots),
            cwd: policy.cwd.clone(),
            home: policy.home.as_deref().map(text_of),
            protected: texts(&policy.protected_dirs),
        }
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

    /// Folders of robota's state that are not called `.robota`.
    pub(super) fn protected(&self) -> impl Iterator<Item = &str> {
        self.protected.iter().map(String::as_str)
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
                push_name(&mut text, name);
            }
            Component::Prefix(drive) => {
                text.push('/');
                text.push_str(drive.as_os_str().to_string_lossy().trim_start_matches(r"\\?\"));
            }
        }
    }
    text
}

/// Appends a name; each byte that is no text becomes a character of its own, so that different names stay
/// different.
fn push_name(text: &mut String, name: &OsStr) {
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(NO_TEXT + u32::from(*byte))));
    }
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
        let places = Places {
            roots: vec!["/work/src".to_owned()],
            cwd: PathBuf::from("/work/src"),
            home: None,
            protected: Vec::new(),
        };
        assert!(places.contain("/work/src") && places.contain("/work/src/x"));
        assert!(!places.contain("/work/src2") && !places.contain("/work"));
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_text_stay_apart() {
        use std::os::unix::ffi::OsStrExt;

        let text = |bytes: &[u8]| text_of(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(text(b"/w\xFF"), "/w\u{10FEFF}");
        assert_ne!(text(b"/w\xFE"), text(b"/w\xFF"));
    }
}
