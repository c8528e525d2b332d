//! Snapshots of a folder: copies in another folder of this machine.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use futures_util::FutureExt;
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::port::{SandboxFuture, Snapshots};
use super::super::tree;
use super::{HostSandbox, Shared};
use crate::files::exact;

/// Beginning of the ids.
const PREFIX: &str = "snapshot-";
/// Beginning of the name of a copy that is not complete.
const PARTIAL: &str = ".partial-";
/// Beginning of the name of the folder in which a restoring prepares.
const STAGING: &str = ".robota-restore-";
/// The folder in it that what was there before is moved to.
const OLD: &str = "old";

impl Snapshots for HostSandbox {
    /// A copy of the folder with modes, times and symlinks; pipes, sockets and devices are left out.
    fn snapshot<'a>(&'a self, cancel: &'a CancellationToken) -> SandboxFuture<'a, String> {
        let stop = cancel.child_token();
        self.blocking(move |shared| shared.snapshot(&stop)).boxed()
    }

    /// The copy is made beside the contents, and only then moved into their place; when that fails midway, what has
    /// been moved is moved back. The folder itself stays the same one. Where this is ended from outside midway,
    /// what was there before is in `.robota-restore-…/old` until the next restoring.
    fn restore<'a>(&'a self, id: &'a str, cancel: &'a CancellationToken) -> SandboxFuture<'a, ()> {
        let (id, stop) = (id.to_owned(), cancel.child_token());
        self.blocking(move |shared| shared.restore(&id, &stop)).boxed()
    }
}

impl Shared {
    fn snapshot(&self, stop: &CancellationToken) -> Result<String, SandboxError> {
        let folder = self.snapshot_folder()?;
        let _alone = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: io::Error| told("keep a snapshot in", folder, error, stop);
        let held = exact::hold_folder(folder, true).map_err(failed)?;
        let root = exact::open_folder(self.workspace.root()).map_err(failed)?;
        if let Some(name) = interrupted(&root).map_err(failed)?.first() {
            let before = self.workspace.root().join(name).join(OLD);
            let message = format!(
                "no snapshot is taken: a restoring was ended midway, and what was there before is in {}",
                before.display()
            );
            return Err(SandboxError::new(SandboxErrorKind::Failed, message)
                .with_hint("restore a snapshot, or move it back and remove the folder"));
        }
        let (partial, id) = (tree::unique(PARTIAL), tree::unique(PREFIX));
        let kept = make_folder(&held, &partial)
            .and_then(|copy| tree::copy(&root, &copy, &is_staging, stop))
            .and_then(|()| Ok(renameat(&held, &*partial, &held, &*id)?));
        if let Err(error) = kept {
            forget(&held, OsStr::new(&partial));
            return Err(failed(error));
        }
        Ok(id)
    }

    fn restore(&self, id: &str, stop: &CancellationToken) -> Result<(), SandboxError> {
        let folder = self.snapshot_folder()?;
        let unknown = || {
            let message = format!("there is no snapshot {id:?} of {}", self.workspace.root().display());
            SandboxError::new(SandboxErrorKind::NotFound, message)
        };
        let known = id.strip_prefix(PREFIX).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
        if !known {
            return Err(unknown());
        }
        let snapshot = match exact::open_folder(&folder.join(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown().with_source(error)),
            opened => {
                opened.map_err(|error| SandboxError::io("open the snapshot", &folder.join(id), error))?
            }
        };
        let _alone = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: io::Error| told("restore", self.workspace.root(), error, stop);
        let root = exact::hold_folder(self.workspace.root(), false).map_err(failed)?;
        let before = interrupted(&root).map_err(failed)?;
        let staging = tree::unique(STAGING);
        let done = make_folder(&root, &staging).map_err(Stopped::before_any_change).and_then(|staged| {
            let new = make_folder(&staged, "new").map_err(Stopped::before_any_change)?;
            let old = make_folder(&staged, OLD).map_err(Stopped::before_any_change)?;
            tree::copy(&snapshot, &new, &|_| false, stop).map_err(Stopped::before_any_change)?;
            exchange(&root, &new, &old, &mut tree::rename)
        });
        if let Err(Stopped { error, is_undone: false }) = done {
            let left = self.workspace.root().join(&staging).join(OLD);
            let story = format!("; what could not be moved back is in {}", left.display());
            return Err(failed(error).and_then(&story));
        }
        forget(&root, OsStr::new(&staging));
        done.map_err(|stopped| failed(stopped.error))?;
        // What an earlier restoring left was to make way for a snapshot, too.
        before.iter().for_each(|name| forget(&root, name));
        Ok(())
    }

    fn snapshot_folder(&self) -> Result<&PathBuf, SandboxError> {
        self.snapshots.as_ref().ok_or_else(|| {
            SandboxError::new(SandboxErrorKind::Unsupported, "this sandbox has no folder for snapshots")
        })
    }
}

/// A restoring that did not come to its end.
#[derive(Debug)]
struct Stopped {
    error: io::Error,
    /// Everything is where it was.
    is_undone: bool,
}

impl Stopped {
    fn before_any_change(error: io::Error) -> Self {
        Self { error, is_undone: true }
    }
}

/// Moves a name from one folder to another.
type Move<'a> = dyn FnMut(&OwnedFd, &OwnedFd, &OsStr) -> io::Result<()> + 'a;

/// Moves the contents of `root` to `old` and those of `new` to `root`; where that fails, back again.
fn exchange(root: &OwnedFd, new: &OwnedFd, old: &OwnedFd, rename: &mut Move<'_>) -> Result<(), Stopped> {
    let names = |folder| tree::names(folder).map_err(Stopped::before_any_change);
    let outgoing = names(root)?.into_iter().filter(|name| !is_staging(name));
    let incoming = names(new)?;
    let all =
        outgoing.map(|name| (root, old, name)).chain(incoming.into_iter().map(|name| (new, root, name)));
    let mut moved: Vec<(&OwnedFd, &OwnedFd, OsString)> = Vec::new();
    for (from, to, name) in all {
        if let Err(error) = rename(from, to, &name) {
            let mut is_undone = true;
            for (from, to, name) in moved.iter().rev() {
                if let Err(error) = rename(to, from, name) {
                    tracing::error!(%error, name = %name.display(), "could not be moved back");
                    is_undone = false;
                }
            }
            return Err(Stopped { error, is_undone });
        }
        moved.push((from, to, name));
    }
    Ok(())
}

/// The folders in `root` of restorings that were ended midway: something waits in them to be moved back.
fn interrupted(root: &OwnedFd) -> io::Result<Vec<OsString>> {
    let holds_contents = |name: &OsString| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let staged = openat(root, name, flags, Mode::empty());
        let old = staged.and_then(|staged| openat(staged, OLD, flags, Mode::empty()));
        old.is_ok_and(|old| tree::names(old).is_ok_and(|names| !names.is_empty()))
    };
    Ok(tree::names(root)?.into_iter().filter(|name| is_staging(name) && holds_contents(name)).collect())
}

fn is_staging(name: &OsStr) -> bool {
    name.as_bytes().starts_with(STAGING.as_bytes())
}

fn make_folder(above: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    mkdirat(above, name, Mode::from_raw_mode(0o700))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(above, name, flags, Mode::empty())?)
}

/// Removes what was only in preparation.
fn forget(folder: &OwnedFd, name: &OsStr) {
    if let Err(error) = tree::remove(folder, name) {
        tracing::warn!(%error, name = %name.display(), "what was in preparation was not removed");
    }
}

fn told(action: &str, path: &Path, error: io::Error, stop: &CancellationToken) -> SandboxError {
    if stop.is_cancelled() && error.kind() == io::ErrorKind::Interrupted {
        return SandboxError::cancelled();
    }
    SandboxError::io(action, path, error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace::resolve_links;

    #[test]
    fn what_fails_midway_is_moved_back_or_stays_and_says_so() {
        for last in [3, 4] {
            let temp = tempfile::tempdir().unwrap();
            let base = resolve_links(temp.path());
            for folder in ["root/a", "root/b", "new/c", "old"] {
                fs::create_dir_all(base.join(folder)).unwrap();
            }
            let [root, new, old] =
                ["root", "new", "old"].map(|name| exact::open_folder(&base.join(name)).unwrap());
            // The third move fails, and in the second round also the first one back.
            let mut moves = 0;
            let stopped = exchange(&root, &new, &old, &mut |from, to, name| {
                moves += 1;
                if (3..=last).contains(&moves) {
                    Err(io::Error::other("full"))
                } else {
                    tree::rename(from, to, name)
                }
            });
            let stopped = stopped.unwrap_err();
            assert_eq!(stopped.is_undone, last == 3);
            let count = |folder: &str| fs::read_dir(base.join(folder)).unwrap().count();
            let expected = if last == 3 { [2, 1, 0] } else { [1, 1, 1] };
            assert_eq!([count("root"), count("new"), count("old")], expected);
        }
    }
}
