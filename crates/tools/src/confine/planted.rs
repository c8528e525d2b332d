//! Files by which a command could give git other settings, where no mount can keep them away.
//!
//! `.git/commondir` says where the settings of a repository are. A `HEAD` at the top of a folder makes it a repository itself,
//! with settings of its own, as soon as its `.git` is spoilt. Git would fail over something else at these
//! names, so they stay free, and what a command has put there is removed when it has ended.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Names that nothing had before a command ran.
#[derive(Debug, Default)]
pub(super) struct Planted {
    commondirs: Vec<PathBuf>,
    heads: Vec<PathBuf>,
}

impl Planted {
    /// Notes what does not exist now in `folders`.
    pub(super) fn watch(folders: &[PathBuf]) -> Self {
        let missing = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        Self {
            commondirs: folders.iter().map(|folder| folder.join(".git/commondir")).filter(missing).collect(),
            heads: folders.iter().map(|folder| folder.join("HEAD")).filter(missing).collect(),
        }
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        for path in &self.commondirs {
            remove(path);
        }
        for head in self.heads.iter().filter(|head| makes_a_repository(head)) {
            remove(head);
        }
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => {
            tracing::warn!(path = %path.display(), "a sandboxed command made a file that redirects git; it is removed");
        }
        Err(error) => tracing::trace!(path = %path.display(), %error, "nothing was planted"),
    }
}

fn makes_a_repository(head: &Path) -> bool {
    let Some(folder) = head.parent() else { return false };
    if !folder.join("objects").is_dir() || !folder.join("refs").is_dir() {
        return false;
    }
    // A link is believed by git by its target's name alone.
    if head.is_symlink() {
        return true;
    }
    let mut start = [0; 40];
    let is_file = head.is_file();
    let read = is_file && fs::File::open(head).and_then(|mut file| file.read(&mut start)).is_ok();
    read && (start.starts_with(b"ref:") || start.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_redirects_git_and_is_new_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let put = |name: &str, text: &str| {
            use std::io::Write;
            let mut file =
                fs::OpenOptions::new().create(true).truncate(true).write(true).open(root.join(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        fs::create_dir(root.join(".git")).unwrap();
        let planted = Planted::watch(&[root.to_owned()]);
        put(".git/commondir", "../evil");
        put("HEAD", "ref: refs/heads/main\n");
        fs::create_dir(root.join("objects")).unwrap();
        fs::create_dir(root.join("refs")).unwrap();
        drop(planted);
        assert!(!root.join(".git/commondir").exists());
        assert!(!root.join("HEAD").exists());

        put("HEAD", "ref: refs/heads/main\n");
        drop(Planted::watch(&[root.to_owned()]));
        assert!(root.join("HEAD").exists());
    }
}
