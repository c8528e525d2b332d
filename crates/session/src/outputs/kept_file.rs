//! One output on its way into its file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use robota_core::SpillFile;
use tempfile::NamedTempFile;

use super::shelf::Shelf;
use crate::conversation::lock;
use crate::{LineFilter, files};

/// How much comes together before it passes the filter, in bytes.
const PIECE: usize = 32 * 1024;

/// A file that appears under its name when it is finished, and never otherwise.
pub(super) struct KeptFile {
    file: NamedTempFile,
    path: PathBuf,
    capacity: u64,
    written: u64,
    filter: Option<LineFilter>,
    /// What has not passed the filter yet.
    waiting: Vec<u8>,
    shelf: Arc<Mutex<Option<Shelf>>>,
}

impl KeptFile {
    /// Begins the file that is to be at `path`, in a folder that is there.
    pub(super) fn begin(
        path: PathBuf,
        capacity: u64,
        filter: Option<LineFilter>,
        shelf: Arc<Mutex<Option<Shelf>>>,
    ) -> io::Result<Self> {
        let folder = lock(&shelf).as_ref().map(|shelf| shelf.folder().to_owned());
        let folder = folder.ok_or(io::ErrorKind::NotFound)?;
        // Among temporary files, a command may have put a link in its place.
        files::is_own_folder(&folder)?;
        // Private to the user, and removed when it is dropped.
        let file = tempfile::Builder::new().prefix(files::TEMPORARY).tempfile_in(folder)?;
        Ok(Self { file, path, capacity, written: 0, filter, waiting: Vec::new(), shelf })
    }

    fn room(&self) -> u64 {
        self.capacity - self.written
    }

    /// Writes what may be written; all of it when nothing follows.
    fn pass(&mut self, is_last: bool) -> io::Result<()> {
        let settled = match &self.filter {
            Some(filter) if !is_last => settled(filter, &self.waiting),
            _ => self.waiting.len(),
        };
        let rest = self.waiting.split_off(settled);
        let piece = std::mem::replace(&mut self.waiting, rest);
        let piece = match &self.filter {
            Some(filter) => clean(filter, &piece),
            None => piece,
        };
        let fits = usize::try_from(self.room()).map_or(piece.len(), |room| room.min(piece.len()));
        self.file.write_all(piece.get(..fits).unwrap_or_default())?;
        self.written += fits as u64;
        Ok(())
    }
}

impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room() > 0 {
            self.waiting.extend_from_slice(bytes);
            if self.waiting.len() >= PIECE {
                self.pass(false)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillFile for KeptFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.pass(true)?;
        self.file.flush()?;
        let Self { file, path, written, shelf, .. } = *self;
        file.persist(&path).map_err(|error| error.error)?;
        if let Some(shelf) = lock(&shelf).as_mut() {
            shelf.add(path, written);
        }
        Ok(())
    }
}

/// How much of `bytes` may be written although more may follow: neither the beginning of a secret nor that of a
/// character is cut off.
fn settled(filter: &LineFilter, bytes: &[u8]) -> usize {
    let (mut at, mut last) = (0, (0, ""));
    for chunk in bytes.utf8_chunks() {
        last = (at, chunk.valid());
        at += chunk.valid().len() + chunk.invalid().len();
    }
    let (begins, text) = last;
    begins + filter.settled(text).unwrap_or(text.len())
}

/// `bytes` without secrets. What is no text holds none, and stays as it is.
fn clean(filter: &LineFilter, bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        // The filter takes JSON.
        let Ok(mut json) = serde_json::to_vec(chunk.valid()) else { continue };
        if !filter.apply(&mut json) {
            kept.extend_from_slice(chunk.valid().as_bytes());
        } else if let Ok(text) = serde_json::from_slice::<String>(&json) {
            kept.extend_from_slice(text.as_bytes());
        }
        kept.extend_from_slice(chunk.invalid());
    }
    kept
}
