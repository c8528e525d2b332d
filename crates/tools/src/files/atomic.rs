//! Replacing a file as a whole or not at all.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::exact::hold_folder;

/// Mode of a new file before the umask.
const NEW_FILE_MODE: u32 = 0o666;
/// Mode of the temporary file beside an existing one, until it takes over that one's.
const PRIVATE_MODE: u32 = 0o600;
/// Names tried for the temporary file.
const ATTEMPTS: usize = 64;

/// Puts `content` at `path`: temporary file in the same folder, write, fsync, rename, fsync of the
/// folder. Missing folders are made. Mode and, where allowed, owner of an existing file stay; hard links to
/// it are cut.
///
/// `path` must be resolved. The folder is opened once, following no symlink, and everything happens relative
/// to that handle: nobody can lead the change elsewhere. Returns the metadata of the new file.
///
/// # Errors
///
/// When the folder or the existing file may not be written, there is no room, or a symlink stands on the way
/// or at its end ([`is_link_error`](super::exact::is_link_error)). The file at `path` is then untouched, and
/// nothing is left beside it.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let folder = hold_folder(folder, true)?;
    let existing = existing_file(folder.as_fd(), name)?;
    let mode = if existing.is_some() { PRIVATE_MODE } else { NEW_FILE_MODE };
    let mut temporary = Temporary::create(folder.as_fd(), mode)?;
    temporary.file.write_all(content)?;
    if let Some(existing) = &existing {
        keep_owner_and_mode(&temporary.file, existing)?;
    }
    temporary.file.sync_all()?;
    let file = temporary.persist(name)?;
    // The content is in place; a folder that cannot be synced only makes that less durable.
    if let Err(error) = sync_folder(folder.as_fd()) {
        tracing::warn!(%error, path = %path.display(), "the folder of a new file was not synced");
    }
    file.metadata()
}

/// What is at `name` already, when it is a file that may be written.
fn existing_file(folder: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Option<Stat>> {
    let existing = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    if FileType::from_raw_mode(existing.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    accessat(folder, name, Access::WRITE_OK, AtFlags::empty())?;
    Ok(Some(existing))
}

fn keep_owner_and_mode(file: &File, existing: &Stat) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.st_uid, existing.st_gid) {
        // Only a privileged process may give files away; the content counts more than the owner.
        if let Err(error) = fchown(file, Some(existing.st_uid), Some(existing.st_gid)) {
            tracing::debug!(%error, "the owner of a replaced file changes");
        }
    }
    file.set_permissions(Permissions::from_mode(existing.st_mode & 0o7777))
}

fn sync_folder(folder: BorrowedFd<'_>) -> io::Result<()> {
    let listed = openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(listed).sync_all()
}

/// A file that is removed unless it takes its place.
struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    file: File,
    placed: bool,
}

impl<'a> Temporary<'a> {
    fn create(folder: BorrowedFd<'a>, mode: u32) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = format!(".robota-{:016x}.tmp", RandomState::new().build_hasher().finish());
            match openat(folder, &*name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok(Self { folder, name, file: file.into(), placed: false }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn persist(mut self, name: &OsStr) -> io::Result<File> {
        renameat(self.folder, &*self.name, self.folder, name)?;
        self.placed = true;
        self.file.try_clone()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.placed {
            return;
        }
        if let Err(error) = unlinkat(self.folder, &*self.name, AtFlags::empty()) {
            tracing::warn!(%error, name = %self.name, "a temporary file was not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::files::exact::is_link_error;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn an_existing_file_keeps_its_mode_and_nothing_stays_beside_it() {
        let (_keep, folder) = folder();
        let path = folder.join("run.sh");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let metadata = replace(&path, b"new").unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o751);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_gets_the_mode_of_any_new_file() {
        let (_keep, folder) = folder();
        let plain = File::create_new(folder.join("plain")).unwrap();
        let metadata = replace(&folder.join("ours"), b"").unwrap();
        assert_eq!(metadata.mode(), plain.metadata().unwrap().mode());
    }

    #[test]
    fn a_rename_that_fails_leaves_no_trace() {
        let (_keep, folder) = folder();
        let target = folder.join("folder");
        fs::create_dir(&target).unwrap();
        assert!(replace(&target, b"content").is_err());
        assert!(target.is_dir());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_symlink_is_neither_followed_nor_replaced() {
        let (_keep, folder) = folder();
        replace(&folder.join("real/file"), b"kept").unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("real/file", folder.join("alias")).unwrap();
        for path in ["link/file", "link/new", "link/a/b", "alias"] {
            let error = replace(&folder.join(path), b"other").unwrap_err();
            assert!(is_link_error(&error), "{path}: {error}");
        }
        assert_eq!(fs::read(folder.join("real/file")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.join("real")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }
}
