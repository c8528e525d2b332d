//! Replacing a file as a whole or not at all.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, accessat, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::attributes;
use super::exact::hold_folder;
use super::stat;

/// Mode of a new file before the umask.
const NEW_FILE_MODE: u32 = 0o666;
/// Mode of the temporary file beside an existing one, until it takes over that one's.
const PRIVATE_MODE: u32 = 0o600;
/// Names tried for the temporary file.
const ATTEMPTS: usize = 64;

/// Puts `content` at `path`: temporary file in the same folder, write, fsync, rename, fsync of the
/// folder. Missing folders are made. Mode, access list, `user.` attributes and, where allowed, owner of an existing
/// file stay.
///
/// Hard links to it are cut: the other names keep the old content. To write through them would have to happen in
/// place, which a crash leaves half done, and would reach files of the same content elsewhere, such as in the store
/// of a package manager.
///
/// `was` is what the caller knows to be there; just before the rename it is looked at once more.
///
/// `path` must be resolved. The folder is opened once, following no symlink, and everything happens relative
/// to that handle: nobody can lead the change elsewhere. Returns the metadata of the new file.
///
/// # Errors
///
/// When the folder or the existing file may not be written, there is no room, a symlink stands on the way
/// or at its end ([`is_link_error`](super::exact::is_link_error)), or another file is there than `was`
/// ([`is_changed`]). The file at `path` is then untouched, and nothing is left beside it.
pub(super) fn replace(path: &Path, content: &[u8], was: Option<&stat::Stat>) -> io::Result<Metadata> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let folder = hold_folder(folder, was.is_none())?;
    let existing = existing_file(folder.as_fd(), name)?;
    check(existing.as_ref(), was)?;
    let mode = if existing.is_some() { PRIVATE_MODE } else { NEW_FILE_MODE };
    let mut temporary = Temporary::create(folder.as_fd(), mode)?;
    temporary.file.write_all(content)?;
    if let Some(existing) = &existing {
        attributes::hand_on(folder.as_fd(), name, existing, &temporary.file)?;
    }
    temporary.file.sync_all()?;
    // That took a while.
    check(existing_file(folder.as_fd(), name)?.as_ref(), was)?;
    let metadata = temporary.persist(name, was.is_none())?;
    // The content is in place; a folder that cannot be synced only makes that less durable.
    if let Err(error) = sync_folder(folder.as_fd()) {
        tracing::warn!(%error, path = %path.display(), "the folder of a new file was not synced");
    }
    Ok(metadata)
}

/// Another file is there than the caller knows.
#[derive(Debug, thiserror::Error)]
#[error("another program has changed it just now")]
pub(super) struct ChangedMeanwhile;

/// Whether a change was not made because the file is another one than the caller knew.
pub(super) fn is_changed(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<ChangedMeanwhile>())
}

fn check(found: Option<&Stat>, was: Option<&stat::Stat>) -> io::Result<()> {
    let same = match (found.map(stat::Stat::from), was) {
        (None, None) => true,
        (Some(found), Some(was)) => found == *was,
        _ => false,
    };
    if same { Ok(()) } else { Err(io::Error::other(ChangedMeanwhile)) }
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

    /// Takes the place `name`; a `new` file only where there is none.
    fn persist(mut self, name: &OsStr, new: bool) -> io::Result<Metadata> {
        let renamed = if new {
            renameat_with(self.folder, &*self.name, self.folder, name, RenameFlags::NOREPLACE)
        } else {
            Err(Errno::INVAL)
        };
        match renamed {
            Err(Errno::EXIST) => return Err(io::Error::other(ChangedMeanwhile)),
            // Some file systems cannot refuse by themselves; that nothing was there was seen a moment ago.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                renameat(self.folder, &*self.name, self.folder, name)?;
            }
            renamed => renamed?,
        }
        self.placed = true;
        self.file.metadata()
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
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
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
        let old = stat::Stat::from(&replace(&path, b"old", None).unwrap());
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let metadata = replace(&path, b"new", Some(&old)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o751);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_gets_the_mode_of_any_new_file() {
        let (_keep, folder) = folder();
        let plain = File::create_new(folder.join("plain")).unwrap();
        let metadata = replace(&folder.join("ours"), b"", None).unwrap();
        assert_eq!(metadata.mode(), plain.metadata().unwrap().mode());
    }

    #[test]
    fn a_rename_that_fails_leaves_no_trace() {
        let (_keep, folder) = folder();
        let target = folder.join("folder");
        fs::create_dir(&target).unwrap();
        assert!(replace(&target, b"content", None).is_err());
        assert!(target.is_dir());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_symlink_is_neither_followed_nor_replaced() {
        let (_keep, folder) = folder();
        replace(&folder.join("real/file"), b"kept", None).unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("real/file", folder.join("alias")).unwrap();
        for path in ["link/file", "link/new", "link/a/b", "alias"] {
            let error = replace(&folder.join(path), b"other", None).unwrap_err();
            assert!(is_link_error(&error), "{path}: {error}");
        }
        assert_eq!(fs::read(folder.join("real/file")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.join("real")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }
    fn listed(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_that_somebody_else_put_there_is_not_replaced() {
        let (_keep, folder) = folder();
        let path = folder.join("file");
        let ours = stat::Stat::from(&replace(&path, b"ours", None).unwrap());
        assert!(is_changed(&replace(&path, b"new", None).unwrap_err()), "there was to be nothing");
        fs::remove_file(&path).unwrap();
        assert!(is_changed(&replace(&path, b"next", Some(&ours)).unwrap_err()), "it is gone");
        replace(&path, b"theirs", None).unwrap();
        assert!(is_changed(&replace(&path, b"next", Some(&ours)).unwrap_err()), "it is another one");
        assert_eq!((fs::read(&path).unwrap(), listed(&folder)), (b"theirs".to_vec(), 1));

        // It appears after the last look.
        let held = hold_folder(&folder, false).unwrap();
        let temporary = Temporary::create(held.as_fd(), PRIVATE_MODE).unwrap();
        assert!(is_changed(&temporary.persist(OsStr::new("file"), true).unwrap_err()));
        assert_eq!((fs::read(&path).unwrap(), listed(&folder)), (b"theirs".to_vec(), 1));
    }

    #[test]
    fn attributes_of_users_stay() {
        let (_keep, folder) = folder();
        let path = folder.join("file");
        let old = stat::Stat::from(&replace(&path, b"old", None).unwrap());
        let flags = rustix::fs::XattrFlags::empty();
        if let Err(error) = rustix::fs::setxattr(&path, "user.origin", b"elsewhere", flags) {
            println!("skipped: this file system keeps no attributes ({error})");
            return;
        }
        replace(&path, b"new", Some(&old)).unwrap();
        let mut value = [0; 16];
        let size = rustix::fs::getxattr(&path, "user.origin", &mut value).unwrap();
        assert_eq!(&value[..size], b"elsewhere");
    }

    /// Runs `work` as a user without privileges.
    fn as_nobody(work: impl FnOnce() + Send + 'static) {
        let thread = std::thread::spawn(move || {
            if rustix::process::geteuid().is_root() {
                // Only this thread changes its user, and it ends soon.
                rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
            }
            work();
        });
        thread.join().unwrap();
    }

    #[test]
    fn what_may_not_be_written_is_not_replaced() {
        let (_keep, folder) = folder();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (name, file_mode, folder_mode) in [("file", 0o444, 0o777), ("folder", 0o666, 0o555)] {
            let below = folder.join(name);
            let path = below.join("f");
            let old = stat::Stat::from(&replace(&path, b"kept", None).unwrap());
            mode(&path, file_mode);
            mode(&below, folder_mode);
            mode(&folder, 0o755);
            let (target, fresh) = (path.clone(), below.join("new"));
            as_nobody(move || {
                let error = replace(&target, b"new", Some(&old)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
                assert_eq!(replace(&fresh, b"new", None).is_err(), name == "folder");
            });
            assert_eq!(fs::read(&path).unwrap(), b"kept");
            assert_eq!(listed(&below), if name == "folder" { 1 } else { 2 });
        }
    }

    #[test]
    fn a_file_of_somebody_else_does_not_become_one_that_runs_as_us() {
        let (_keep, folder) = folder();
        let path = folder.join("tool");
        let old = stat::Stat::from(&replace(&path, b"old", None).unwrap());
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can make a file of another user");
            return;
        }
        fs::set_permissions(&path, Permissions::from_mode(0o6777)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let target = path.clone();
        as_nobody(move || assert!(replace(&target, b"new", Some(&old)).is_ok()));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o777);
    }
}
