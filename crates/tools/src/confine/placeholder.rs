//! Empty folders that hold protected names while commands run that could take them.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::survivors;

/// Marks the folder as one of ours, to be removed when it was left behind: nobody else makes a private empty
/// folder with the sticky bit.
const STICKY: u32 = 0o1000;
const MODE: u32 = STICKY | 0o755;
/// Another process may remove the folder between the steps, but not for ever.
const ATTEMPTS: usize = 50;
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// An empty folder at a protected name; removed when the last process that needs it gives it up.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    /// Locked as long as it is needed, shared by all who do.
    folder: File,
    /// It was there before, perhaps left behind by a session that was killed while its commands ran on.
    was_there: bool,
}

impl Placeholder {
    /// Takes the name `path`; `None` where something has it already, or where nobody may make it.
    pub(super) fn take(path: &Path) -> Option<Self> {
        (0..ATTEMPTS).find_map(|_| Self::attempt(path).transpose()).and_then(|taken| {
            taken
                .inspect_err(
                    |error| tracing::debug!(path = %path.display(), %error, "a protected name was not taken"),
                )
                .ok()
                .flatten()
        })
    }

    /// `Ok(None)` when it has to be tried again.
    fn attempt(path: &Path) -> io::Result<Option<Option<Self>>> {
        let was_there = match DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let Some(found) = unless_removed(fs::symlink_metadata(path))? else { return Ok(None) };
                if !is_ours(&found)
                    || unless_removed(fs::read_dir(path))?.is_some_and(|mut entries| entries.next().is_some())
                {
                    return Ok(Some(None));
                }
                true
            }
            Err(error) => return Err(error),
        };
        let Some(folder) = unless_removed(open(path))? else { return Ok(None) };
        match folder.try_lock_shared() {
            Ok(()) => {}
            // The last one who needed it is about to remove it.
            Err(TryLockError::WouldBlock) => {
                thread::sleep(PAUSE);
                return Ok(None);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let same = fs::symlink_metadata(path).is_ok_and(|found| is_same(&found, &folder));
        Ok(same.then(|| Some(Self { path: path.to_owned(), folder, was_there })))
    }

    /// Leaves the folder in place, for the next session to find.
    pub(super) fn abandon(self) {
        let Self { path, folder, .. } = &self;
        tracing::debug!(path = %path.display(), ?folder, "a protected name stays taken by what still runs");
        std::mem::forget(self);
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Somebody else who needs it holds the lock as well.
        if self.folder.try_lock().is_err() {
            return;
        }
        let still_there = fs::symlink_metadata(&self.path).is_ok_and(|found| is_same(&found, &self.folder));
        if !still_there || (self.was_there && survivors::any_with_mount_at(&self.path)) {
            return;
        }
        if let Err(error) = fs::remove_dir(&self.path) {
            // Filled meanwhile by somebody outside of the sandbox, whose folder it is now.
            tracing::debug!(path = %self.path.display(), %error, "a protected name is not given back");
            let _unmarked_or_not = self.folder.set_permissions(fs::Permissions::from_mode(MODE & !STICKY));
        }
    }
}

/// `None` when somebody else has removed it at this moment.
fn unless_removed<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}

fn is_ours(found: &Metadata) -> bool {
    found.is_dir() && found.mode() & 0o7000 == STICKY && found.uid() == geteuid().as_raw()
}

fn is_same(found: &Metadata, folder: &File) -> bool {
    folder.metadata().is_ok_and(|folder| (folder.dev(), folder.ino()) == (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_until_the_last_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".husky");
        let (one, other) = (Placeholder::take(&path).unwrap(), Placeholder::take(&path).unwrap());
        drop(one);
        assert!(path.is_dir());
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn whoever_comes_while_another_lets_go_gets_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".husky");
        let take_and_let_go = || (0..2000).all(|_| Placeholder::take(&path).is_some());
        let all = thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(take_and_let_go));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(all, [true; 3]);
        assert!(!path.exists());
    }

    #[test]
    fn what_people_have_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".husky");
        fs::create_dir(&path).unwrap();
        assert!(Placeholder::take(&path).is_none());
        fs::remove_dir(&path).unwrap();

        let taken = Placeholder::take(&path).unwrap();
        fs::create_dir(path.join("hooks")).unwrap();
        drop(taken);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7000, 0);
        assert!(path.join("hooks").is_dir());
    }

    #[test]
    fn what_was_left_behind_is_removed_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".husky");
        DirBuilder::new().mode(MODE).create(&path).unwrap();
        drop(Placeholder::take(&path).unwrap());
        assert!(!path.exists());
    }
}
