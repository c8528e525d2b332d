//! Reaching the files that a walk meets, many of one folder after the other.

use std::fs::File;
use std::io::{self, Cursor};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::files::{Content, Kind, exact};
use crate::workspace::Workspace;

/// Bytes of a file in a sandbox that is searched: several threads hold one each in memory.
const MAX_REMOTE: u64 = 64 * 1024 * 1024;

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
    /// As [`Workspace::open`], and when it is no regular file.
    pub(super) fn open(&mut self, path: &Path) -> io::Result<Content> {
        if let Some(remote) = self.workspace.remote() {
            let found = remote.look(path)?;
            if found.kind != Kind::File || found.size > MAX_REMOTE {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            return Ok(Content::Whole(Cursor::new(remote.read(path)?)));
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self.folder_of(path)?, name_of(path)?.as_bytes(), flags, Mode::empty())?;
        // A pipe or a device may have been put in the place of the file that was met; it might have no end.
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no regular file any more"));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::resolve_links;

    #[test]
    fn what_took_the_place_of_a_file_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let folder = resolve_links(temp.path());
        let workspace = Workspace::new(&folder, [], None);
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), FileType::Fifo, mode, 0).unwrap();
        std::fs::create_dir(folder.join("folder")).unwrap();
        for name in ["pipe", "folder"] {
            let opened = Reach::new(&workspace).open(&folder.join(name));
            assert_eq!(opened.err().unwrap().to_string(), "it is no regular file any more", "{name}");
        }
    }
}
