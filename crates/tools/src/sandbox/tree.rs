//! Folders copied and removed with all that is in them, by handle: whoever puts a symlink in the place of a folder
//! meanwhile leads nobody elsewhere.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Mode of folders and files until they get their own.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The names in a folder.
pub(super) fn names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    // A handle of its own: reading moves along it, and one that only holds the folder cannot be read.
    let folder = openat(folder, ".", FOLDER, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes what is at `name` with all that is in it; nothing there is fine.
pub(super) fn remove(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // Linux says the one of a folder, POSIX the other.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let inner = File::from(openat(&folder, name, FOLDER, Mode::empty())?);
    // What may not be written may not be emptied; that it is somebody else's shows below.
    let _writable_or_not = inner.set_permissions(Permissions::from_mode(PRIVATE_FOLDER));
    for inside in names(&inner)? {
        remove(&inner, &inside)?;
    }
    Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
}

/// Copies everything in `from` except the names that `skips` holds for into the folder `to`: files with mode and time,
/// symlinks as they are. Pipes, sockets and devices are left out.
pub(super) fn copy(
    from: &OwnedFd,
    to: &OwnedFd,
    skips: &dyn Fn(&OsStr) -> bool,
    cancel: &CancellationToken,
) -> io::Result<()> {
    for name in names(from)?.iter().filter(|name| !skips(name)) {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let found = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => copy_folder(from, to, name, cancel)?,
            FileType::RegularFile => copy_file(from, to, name)?,
            FileType::Symlink => symlinkat(readlinkat(from, name, Vec::new())?, to, name)?,
            kind => tracing::debug!(?kind, name = %name.display(), "left out of a copy"),
        }
    }
    Ok(())
}

fn copy_folder(from: &OwnedFd, to: &OwnedFd, name: &OsStr, cancel: &CancellationToken) -> io::Result<()> {
    let inner = openat(from, name, FOLDER, Mode::empty())?;
    mkdirat(to, name, Mode::from_raw_mode(PRIVATE_FOLDER))?;
    let made = openat(to, name, FOLDER, Mode::empty())?;
    copy(&inner, &made, &|_| false, cancel)?;
    let metadata = File::from(inner).metadata()?;
    File::from(made).set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o7777))
}

fn copy_file(from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut source = File::from(openat(from, name, read, Mode::empty())?);
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it was a regular file, and then was not"));
    }
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut copy = File::from(openat(to, name, write, Mode::from_raw_mode(PRIVATE_FILE))?);
    io::copy(&mut source, &mut copy)?;
    if let Ok(modified) = metadata.modified() {
        copy.set_times(FileTimes::new().set_modified(modified))?;
    }
    copy.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o7777))
}

/// Moves `name` from one folder to another, where nothing has it.
pub(super) fn rename(from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match renameat(from, name, to, name) {
        // A folder is written to when it gets another parent.
        Err(Errno::ACCESS) => {}
        done => return Ok(done?),
    }
    let folder = File::from(openat(from, name, FOLDER, Mode::empty())?);
    let permissions = folder.metadata()?.permissions();
    folder.set_permissions(Permissions::from_mode(PRIVATE_FOLDER))?;
    let moved = renameat(from, name, to, name);
    folder.set_permissions(permissions)?;
    Ok(moved?)
}

/// A name that nobody has.
pub(super) fn unique(prefix: &str) -> String {
    format!("{prefix}{:016x}", RandomState::new().build_hasher().finish())
}
