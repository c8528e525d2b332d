//! What a path of a sandbox may be.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::error::{SandboxError, SandboxErrorKind};

/// The absolute path that `written` means in the folder `root`: absolute inside of it or relative to it, with `.`
/// and `..` taken away by names.
///
/// # Errors
///
/// When it holds a NUL or leads out of `root`.
pub(crate) fn inside(root: &Path, written: &Path) -> Result<PathBuf, SandboxError> {
    let refused = |why: &str| {
        let message = format!("{} is no path of the sandbox: {why}", written.display());
        Err(SandboxError::new(SandboxErrorKind::InvalidPath, message))
    };
    if written.as_os_str().as_bytes().contains(&0) {
        return refused("it contains a NUL character");
    }
    let mut plain = PathBuf::from("/");
    for part in root.join(written).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir if !plain.pop() => return refused("it leads above the root"),
            Component::ParentDir | Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    if plain.starts_with(root) {
        Ok(plain)
    } else {
        refused(&format!("it lies outside of {}", root.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_folder() {
        let at = |written: &str| inside(Path::new("/workspace"), Path::new(written)).ok();
        let cases = [
            ("a/./b", Some("/workspace/a/b")),
            ("/workspace/a/../b", Some("/workspace/b")),
            ("", Some("/workspace")),
            ("../workspace/x", Some("/workspace/x")),
            ("..", None),
            ("/etc/passwd", None),
            ("/workspace2/x", None),
            ("a/../../b", None),
            ("../../../..", None),
            ("a\0b", None),
        ];
        for (written, expected) in cases {
            assert_eq!(at(written), expected.map(PathBuf::from), "{written:?}");
        }
    }
}
