//! The log of a session as a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::lock::SessionLock;
use crate::{LogWriter, files};

/// Appends to a log file, and holds the session's lock.
pub(super) struct FileLog {
    file: Arc<File>,
    folder: PathBuf,
    length: u64,
    folder_synced: bool,
    _lock: SessionLock,
}

impl FileLog {
    /// Appends to `file`, `length` bytes long, in `folder`.
    pub(super) fn new(file: File, length: u64, folder: PathBuf, lock: SessionLock) -> Self {
        Self { file: Arc::new(file), folder, length, folder_synced: false, _lock: lock }
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = (&*self.file).write_all(lines);
        match written {
            Ok(()) => self.length += lines.len() as u64,
            // What was written of them is half a line at best; a reader would skip it anyway.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

impl LogWriter for FileLog {
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        // Appending goes to the page cache and takes microseconds, less than a change of thread.
        Box::pin(async move { self.write(lines) })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let file = Arc::clone(&self.file);
            let folder = (!self.folder_synced).then(|| self.folder.clone());
            let sync = move || {
                file.sync_data()?;
                // Once, so that the file itself is found after a power cut.
                folder.as_deref().map_or(Ok(()), files::sync_folder)
            };
            tokio::task::spawn_blocking(sync).await.map_err(io::Error::other)??;
            self.folder_synced = true;
            Ok(())
        })
    }
}
