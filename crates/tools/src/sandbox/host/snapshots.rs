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

impl Snapshots for HostSandbox {
    /// A copy of the folder with modes, times and symlinks; pipes, sockets and devices are left out.
    fn snapshot<'a>(&'a self, cancel: &'a CancellationToken) -> SandboxFuture<'a, String> {
        let stop = cancel.child_token();
        self.blocking(move |shared| shared.snapshot(&stop)).boxed()
    }

    /// The copy is made beside the contents, and only then moved into their place; when that fails midway, what has
    /// been moved is moved back. The folder itself stays the same one.
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
        let (partial, id) = (tree::unique(PARTIAL), tree::unique(PREFIX));
        let kept = make_folder(&held, &partial)
            .and_then(|copy| tree::copy(&root, &copy, &is_staging, stop))
            .and_then(|()| Ok(renameat(&held, &*partial, &held, &*id)?));
        if let Err(error) = kept {
            forget(&held, &partial);
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
        let staging = tree::unique(STAGING);
        let done = make_folder(&root, &staging).and_then(|staged| {
            let (new, old) = (make_folder(&staged, "new")?, make_folder(&staged, "old")?);
            tree::copy(&snapshot, &new, &|_| false, stop)?;
            exchange(&root, &new, &old)
        });
        forget(&root, &staging);
        done.map_err(failed)
    }

    fn snapshot_folder(&self) -> Result<&PathBuf, SandboxError> {
        self.snapshots.as_ref().ok_or_else(|| {
            SandboxError::new(SandboxErrorKind::Unsupported, "this sandbox has no folder for snapshots")
        })
    }
}

/// Moves the contents of `root` to `old` and those of `new` to `root`, or changes nothing.
fn exchange(root: &OwnedFd, new: &OwnedFd, old: &OwnedFd) -> io::Result<()> {
    let mut moved: Vec<(&OwnedFd, &OwnedFd, OsString)> = Vec::new();
    let outgoing = tree::names(root)?.into_iter().filter(|name| !is_staging(name));
    let all = outgoing
        .map(|name| (root, old, name))
        .chain(tree::names(new)?.into_iter().map(|name| (new, root, name)));
    for (from, to, name) in all {
        if let Err(error) = tree::rename(from, to, &name) {
            for (from, to, name) in moved.iter().rev() {
                if let Err(error) = tree::rename(to, from, name) {
                    tracing::error!(%error, name = %name.display(), "could not be moved back");
                }
            }
            return Err(error);
        }
        moved.push((from, to, name));
    }
    Ok(())
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
fn forget(folder: &OwnedFd, name: &str) {
    if let Err(error) = tree::remove(folder, OsStr::new(name)) {
        tracing::warn!(%error, name, "what was in preparation was not removed");
    }
}

fn told(action: &str, path: &Path, error: io::Error, stop: &CancellationToken) -> SandboxError {
    if stop.is_cancelled() && error.kind() == io::ErrorKind::Interrupted {
        return SandboxError::cancelled();
    }
    SandboxError::io(action, path, error)
}
