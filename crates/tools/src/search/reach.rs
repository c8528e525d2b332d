//! Reaching the files that a walk meets, many of one folder after the other.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::files::{Content, exact};
use crate::workspace::Workspace;

/// Opens files by a handle on their folder, which is found once for files that come in a row.
///
/// A walk goes by names: what it meets counts only when it is where the names say. No symlink is followed, neither
/// on the way to the folder nor in it.
pub(super) struct Reach<'a> {
    workspace: &'a Workspace,
    held: Option<(PathBuf, OwnedFd)>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, held: None }
    }

    /// Opens the file at `path`, without ever waiting for a writer.
    ///
    /// # Errors
    ///
    /// As [`Workspace::open`].
    pub(super) fn open(&mut self, path: &Path) -> io::Result<Content> {
        if self.workspace.remote().is_some() {
            return Ok(self.workspace.open(path)?.0);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self.folder_of(path)?, name_of(path)?.as_bytes(), flags, Mode::empty())?;
        Ok(Content::Local(File::from(file)))
    }

    /// When the file at `path` was modified: seconds and nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// As [`Workspace::look`], and when there is no regular file.
    pub(super) fn modified(&mut self, path: &Path) -> io::Result<(i64, i64)> {
        if self.workspace.remote().is_some() {
            return Ok(self.workspace.look(path)?.modified);
        }
        let found = statat(self.folder_of(path)?, name_of(path)?.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Errno::LOOP.into());
        }
        Ok((found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or_default()))
    }

    fn folder_of(&mut self, path: &Path) -> io::Result<&OwnedFd> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let is_held = |held: &(PathBuf, OwnedFd)| held.0.as_os_str() == folder.as_os_str();
        if !self.held.as_ref().is_some_and(is_held) {
            // Closed before the next is opened, also when that fails.
            self.held = None;
            let handle = exact::hold_folder(folder, false)?;
            self.held = Some((folder.to_owned(), handle));
        }
        self.held.as_ref().map(|(_, handle)| handle).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn name_of(path: &Path) -> io::Result<&std::ffi::OsStr> {
    path.file_name().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
