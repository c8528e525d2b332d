//! What lies in the folder of a session, oldest first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files;

/// The outputs of a session and their sizes.
pub(super) struct Shelf {
    folder: PathBuf,
    limit: u64,
    outputs: VecDeque<(PathBuf, u64)>,
    total: u64,
}

impl Shelf {
    /// A folder with nothing in it, for at most `limit` bytes.
    pub(super) fn empty(folder: &Path, limit: u64) -> Self {
        Self { folder: folder.to_owned(), limit, outputs: VecDeque::new(), total: 0 }
    }

    /// What an earlier run of the session has left. What it did not finish is removed: whoever has the session
    /// open is the only one to write there.
    pub(super) fn of(folder: &Path, limit: u64) -> io::Result<Self> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| metadata.is_file()) else { continue };
            if name.starts_with(files::TEMPORARY) {
                files::remove(&entry.path())?;
            } else {
                let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((written, entry.path(), metadata.len()));
            }
        }
        found.sort();
        let mut shelf = Self::empty(folder, limit);
        for (_, path, bytes) in found {
            shelf.total += bytes;
            shelf.outputs.push_back((path, bytes));
        }
        Ok(shelf)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes a new output, and lets the oldest go while all together are too many. The new one always stays.
    pub(super) fn add(&mut self, path: PathBuf, bytes: u64) {
        if let Some(at) = self.outputs.iter().position(|(known, _)| *known == path) {
            let replaced = self.outputs.remove(at);
            self.total -= replaced.map_or(0, |(_, bytes)| bytes);
        }
        self.outputs.push_back((path, bytes));
        self.total += bytes;
        while self.total > self.limit && self.outputs.len() > 1 {
            let Some((oldest, bytes)) = self.outputs.pop_front() else { return };
            self.total -= bytes;
            if let Err(error) = files::remove(&oldest) {
                tracing::warn!(%error, file = %oldest.display(), "an old output could not be removed");
            }
        }
    }
}
