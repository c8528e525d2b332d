//! The payloads of a session as files.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use robota_core::SessionId;

use crate::{Payload, PayloadError, PayloadReference, PayloadSource, files};

/// The folder of the payloads of the session `id`.
pub(crate) fn payload_folder(logs: &Path, id: &SessionId) -> PathBuf {
    logs.join(format!("{id}.payloads"))
}

fn payload_path(folder: &Path, sha256: &str) -> PathBuf {
    folder.join(format!("{sha256}.json"))
}

/// Reads payload files.
pub(super) struct PayloadFiles {
    folder: PathBuf,
}

impl PayloadFiles {
    pub(super) fn new(logs: &Path, id: &SessionId) -> Self {
        Self { folder: payload_folder(logs, id) }
    }

    fn open_and_read(&self, reference: &PayloadReference) -> io::Result<Option<Vec<u8>>> {
        if !files::is_own_folder(&self.folder)? {
            return Ok(None);
        }
        let file = match files::open_read(&payload_path(&self.folder, &reference.sha256)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut json = Vec::new();
        // One byte more tells a file that is too long, however long it is.
        file.take(reference.byte_length.saturating_add(1)).read_to_end(&mut json)?;
        Ok(Some(json))
    }
}

impl PayloadSource for PayloadFiles {
    fn read(&self, reference: &PayloadReference) -> Result<Vec<u8>, PayloadError> {
        match self.open_and_read(reference) {
            Ok(Some(json)) => Ok(json),
            Ok(None) => Err(PayloadError::not_found(reference)),
            Err(error) => Err(PayloadError::unreadable(reference, error)),
        }
    }
}

/// Writes payload files; held by the one writer of the session.
pub(super) struct PayloadWriter {
    folder: PathBuf,
    /// Payloads that are there and were seen to be right.
    known: HashSet<String>,
    /// Files that the disk may not have yet.
    unsynced: Vec<PathBuf>,
    /// Whether the disk has the folder.
    folder_synced: bool,
}

impl PayloadWriter {
    pub(super) fn new(logs: &Path, id: &SessionId) -> Self {
        let folder = payload_folder(logs, id);
        Self { folder, known: HashSet::new(), unsynced: Vec::new(), folder_synced: false }
    }

    /// Makes sure that `payloads` are there.
    pub(super) fn put(&mut self, payloads: Vec<Payload>) -> io::Result<()> {
        files::make_private_folder(&self.folder, false)?;
        for Payload { sha256, json } in payloads {
            if self.known.contains(&sha256) {
                continue;
            }
            let path = payload_path(&self.folder, &sha256);
            // An earlier process may have left it there without waiting for the disk.
            if !files::has_content(&path, &json)? {
                files::put(&path, &json)?;
            }
            self.unsynced.push(path);
            self.known.insert(sha256);
        }
        Ok(())
    }

    /// Makes all payloads survive the death of the machine.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        for path in &self.unsynced {
            files::sync_file(path)?;
        }
        files::sync_folder(&self.folder)?;
        if let Some(logs) = self.folder.parent().filter(|_| !self.folder_synced) {
            files::sync_folder(logs)?;
        }
        self.folder_synced = true;
        self.unsynced.clear();
        Ok(())
    }
}
