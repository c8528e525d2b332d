//! The log of a session as a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::lock::SessionLock;
use super::payloads::PayloadWriter;
use crate::{LogWriter, Payload, files};

/// Appends to a log file, and holds the session's lock.
pub(super) struct FileLog {
    file: Arc<File>,
    folder: PathBuf,
    length: u64,
    folder_synced: bool,
    payloads: Arc<Mutex<PayloadWriter>>,
    _lock: SessionLock,
}

impl FileLog {
    /// Appends to `file`, `length` bytes long, in `folder`.
    pub(super) fn new(
        file: File,
        length: u64,
        folder: PathBuf,
        payloads: PayloadWriter,
        lock: SessionLock,
    ) -> Self {
        let payloads = Arc::new(Mutex::new(payloads));
        Self { file: Arc::new(file), folder, length, folder_synced: false, payloads, _lock: lock }
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

    fn keeps_payloads(&self) -> bool {
        true
    }

    fn put_payloads(&mut self, payloads: Vec<Payload>) -> BoxFuture<'_, io::Result<()>> {
        let writer = Arc::clone(&self.payloads);
        let put = move || writer.lock().unwrap_or_else(PoisonError::into_inner).put(payloads);
        Box::pin(async { tokio::task::spawn_blocking(put).await.map_err(io::Error::other)? })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let payloads = Arc::clone(&self.payloads);
            let file = Arc::clone(&self.file);
            let folder = (!self.folder_synced).then(|| self.folder.clone());
            let sync = move || {
                // First, so that no line on the disk refers to a payload that is not.
                payloads.lock().unwrap_or_else(PoisonError::into_inner).sync()?;
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
