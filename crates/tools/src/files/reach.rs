//! How the tools reach the files of a workspace: by handle on this machine, or through a sandbox.
//!
//! Everything here may block and is called on threads that may.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType};

use super::stat::{Kind, Stat};
use super::{atomic, exact};
use crate::workspace::Workspace;

/// Files that lie elsewhere, such as in a sandbox. Paths are absolute and free of `..`.
pub(crate) trait Remote: fmt::Debug + Send + Sync {
    /// What is at `path`.
    ///
    /// # Errors
    ///
    /// With kind `NotFound` when there is nothing.
    fn look(&self, path: &Path) -> io::Result<Stat>;

    /// The whole file at `path`.
    ///
    /// # Errors
    ///
    /// When it is not there, is no file, or is larger than the adapter holds in memory.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Puts `content` at `path`, as a whole or not at all, and makes missing folders.
    ///
    /// # Errors
    ///
    /// When it cannot be written; what was there is then untouched.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<Stat>;

    /// The names in a folder, in no order, without `.` and `..`.
    ///
    /// # Errors
    ///
    /// When it is no folder or cannot be listed.
    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, Kind)>>;
}

/// An open file.
pub(crate) enum Content {
    Local(File),
    Whole(Cursor<Vec<u8>>),
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read(buffer),
            Self::Whole(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Content {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Local(file) => file.seek(position),
            Self::Whole(bytes) => bytes.seek(position),
        }
    }
}

impl Workspace {
    /// What is at `path`, which is resolved; no symlink is followed.
    ///
    /// # Errors
    ///
    /// With kind `NotFound` when there is nothing; [`exact::is_link_error`] holds when a symlink stands on the
    /// way or at its end.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Stat> {
        match self.remote() {
            Some(remote) => remote.look(path),
            None => Ok(Stat::from(&exact::look(path)?.metadata()?)),
        }
    }

    /// Whether there is a folder at `path`.
    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.look(path).is_ok_and(|found| found.kind == Kind::Folder)
    }

    /// Opens the file at `path`, which is resolved, for reading, without ever waiting for a writer.
    ///
    /// # Errors
    ///
    /// As [`Workspace::look`].
    pub(crate) fn open(&self, path: &Path) -> io::Result<(Content, Stat)> {
        match self.remote() {
            Some(remote) => {
                let stat = remote.look(path)?;
                let content = if stat.kind == Kind::File { remote.read(path)? } else { Vec::new() };
                Ok((Content::Whole(Cursor::new(content)), stat))
            }
            None => {
                let file = exact::open_file(path)?;
                let stat = Stat::from(&file.metadata()?);
                Ok((Content::Local(file), stat))
            }
        }
    }

    /// Puts `content` at `path`, which is resolved, as a whole or not at all. `was` is what the caller knows to be
    /// there.
    ///
    /// # Errors
    ///
    /// As [`atomic::replace`].
    pub(crate) fn replace(&self, path: &Path, content: &[u8], was: Option<&Stat>) -> io::Result<Stat> {
        let Some(remote) = self.remote() else {
            return atomic::replace(path, content, was).map(|metadata| Stat::from(&metadata));
        };
        let found = match remote.look(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if found.as_ref() != was {
            return Err(io::Error::other(atomic::ChangedMeanwhile));
        }
        remote.replace(path, content)
    }

    /// At most `most` entries of a folder, in no order; `None` for a kind that the file system does not tell.
    ///
    /// # Errors
    ///
    /// As [`Workspace::look`].
    pub(crate) fn entries(&self, folder: &Path, most: usize) -> io::Result<Vec<(OsString, Option<Kind>)>> {
        if let Some(remote) = self.remote() {
            let listed = remote.list(folder)?.into_iter().take(most);
            return Ok(listed.map(|(name, kind)| (name, Some(kind))).collect());
        }
        let listed = Dir::read_from(exact::open_folder(folder)?)?.flatten();
        let named = listed.map(|entry| {
            (OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), kind_of(entry.file_type()))
        });
        Ok(named.filter(|(name, _)| name != "." && name != "..").take(most).collect())
    }

    /// `path`, which is absolute, with the symlinks that are there now resolved; in a sandbox only by its names.
    pub(crate) fn resolve_path(&self, path: &Path) -> PathBuf {
        match self.remote() {
            Some(_) => crate::workspace::without_dots(path),
            None => crate::workspace::resolve_links(path),
        }
    }
}

fn kind_of(kind: FileType) -> Option<Kind> {
    match kind {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Fifo => Some(Kind::Pipe),
        FileType::Socket => Some(Kind::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => Some(Kind::Device),
        _ => None,
    }
}
