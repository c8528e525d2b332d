//! Opening exactly the path that was judged.
//!
//! A call is judged by its path with all symlinks resolved. Between that and the opening somebody may put
//! a symlink in the place of a folder or file; the kernel is therefore told to follow none, and the opening
//! fails instead (design section 6, point 3).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Mode of a new folder before the umask.
const NEW_FOLDER_MODE: u32 = 0o777;

/// To look at a thing without opening it, where the system can.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::NONBLOCK;

/// To hold a folder, as the place that names are relative to.
const HOLD: OFlags = LOOK.union(OFlags::DIRECTORY);

/// A handle on whatever is at `path`, to look at its metadata only.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn look(path: &Path) -> io::Result<File> {
    open(path, LOOK)
}

/// Opens the file at `path`, which is absolute and free of symlinks, for reading, without ever waiting for a
/// writer.
///
/// # Errors
///
/// As for any opening; [`is_link_error`] holds for the error when a symlink stands on the way or at its end.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Opens the folder at `path` for listing.
///
/// # Errors
///
/// As [`open_file`].
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY).map(OwnedFd::from)
}

/// Holds the folder at `path`; with `create` it is made where it does not exist, with the folders above it.
///
/// # Errors
///
/// As [`open_file`]; folders made before the error stay.
pub(crate) fn hold_folder(path: &Path, create: bool) -> io::Result<OwnedFd> {
    match open(path, HOLD) {
        Ok(folder) => Ok(folder.into()),
        Err(error) if create && error.kind() == io::ErrorKind::NotFound => make_folder(path, error),
        Err(error) => Err(error),
    }
}

fn make_folder(path: &Path, missing: io::Error) -> io::Result<OwnedFd> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Err(missing) };
    let above = hold_folder(above, true)?;
    match mkdirat(&above, name, Mode::from_raw_mode(NEW_FOLDER_MODE)) {
        // Somebody else may have made it; what it is shows in the next step.
        Ok(()) | Err(Errno::EXIST) => Ok(step(&above, name, HOLD)?),
        Err(error) => Err(error.into()),
    }
}

/// Whether an opening failed because of a symlink.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// The failure for `error`, which came of an attempt to `action` at `path`.
pub(crate) fn failure(workspace: &Workspace, action: &str, path: &Path, error: &io::Error) -> Failure {
    let shown = workspace.display(path);
    // A symlink that leads in a circle was one before, too.
    if !is_link_error(error) || workspace.resolve_path(path) == path {
        return Failure::io(action, &shown, error);
    }
    let message = format!(
        "cannot {action} {shown}: it changed while the call was being decided, and a symlink now leads elsewhere; \
         look at it again"
    );
    Failure::new("path_changed", message)
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};

        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, flags, Mode::empty(), resolve) {
            // An old kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?.into()),
        }
    }
    Ok(open_stepwise(path, flags)?.into())
}

/// The same, one name after the other.
fn open_stepwise(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut names = path.components().peekable();
    if names.next() != Some(Component::RootDir) {
        return Err(Errno::INVAL);
    }
    let at_root = if names.peek().is_none() { flags } else { HOLD };
    let mut place = openat(CWD, "/", at_root | OFlags::CLOEXEC, Mode::empty())?;
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else { return Err(Errno::INVAL) };
        place = step(&place, name, if names.peek().is_none() { flags } else { HOLD })?;
    }
    Ok(place)
}

fn step(place: impl AsFd, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let is_link = || {
        let found = statat(&place, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    };
    match openat(&place, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) if is_link() => Err(Errno::LOOP),
        // A handle without access may be one on the symlink itself.
        Ok(opened) if flags.contains(LOOK) && !flags.contains(OFlags::DIRECTORY) => {
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
            if kind == FileType::Symlink { Err(Errno::LOOP) } else { Ok(opened) }
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    /// `real/file`, and symlinks to the folder and the file.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("real")).unwrap();
        fs::OpenOptions::new().create(true).append(true).open(base.join("real/file")).unwrap();
        symlink("real", base.join("link")).unwrap();
        symlink("file", base.join("real/alias")).unwrap();
        (temp, base)
    }

    #[test]
    fn both_ways_of_opening_follow_no_symlink() {
        let (_temp, base) = tree();
        let ways: [fn(&Path, OFlags) -> io::Result<File>; 2] =
            [open, |path, flags| open_stepwise(path, flags).map(File::from).map_err(io::Error::from)];
        for way in ways {
            let fails_by_link = |path: &str, flags| {
                let error = way(&base.join(path), flags).unwrap_err();
                is_link_error(&error)
            };
            let mut text = String::new();
            way(&base.join("real/file"), OFlags::RDONLY).unwrap().read_to_string(&mut text).unwrap();
            for flags in [OFlags::RDONLY, LOOK] {
                assert!(fails_by_link("link/file", flags) && fails_by_link("real/alias", flags));
                assert!(!fails_by_link("real/none", flags) && !fails_by_link("real/file/x", flags));
                assert!(way(&base.join("real"), flags).is_ok() && way(Path::new("/"), flags).is_ok());
            }
            assert!(fails_by_link("link", HOLD) && !fails_by_link("real/file", HOLD));
        }
    }

    #[test]
    fn folders_are_made_below_real_ones_only() {
        let (_temp, base) = tree();
        hold_folder(&base.join("real/a/b"), true).unwrap();
        assert!(base.join("real/a/b").is_dir());
        let error = hold_folder(&base.join("link/c/d"), true).unwrap_err();
        assert!(is_link_error(&error) && !base.join("real/c").exists(), "{error}");
        assert_eq!(hold_folder(&base.join("none"), false).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
