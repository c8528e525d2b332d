//! Taking a session away, and saying what went.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use robota_core::SessionId;
use serde::Serialize;

use super::file::{logs_folder, sessions_folder};
use super::listing::{log_path, record_path};
use super::payloads::payload_folder;
use crate::{Error, files, outputs};

/// What was removed of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Deleted {
    /// The session.
    pub session_id: SessionId,
    /// Its files, in the order they went; none when there was no such session.
    pub files: Vec<DeletedFile>,
}

/// A file that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeletedFile {
    /// Where it was.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub path: PathBuf,
    /// How large it was.
    pub bytes: u64,
}

impl Deleted {
    /// The report of a session that was not there.
    pub(super) fn nothing(id: &SessionId) -> Self {
        Self { session_id: id.clone(), files: Vec::new() }
    }

    /// How much was removed, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Removes the files of the session `id` in the store in `base`, whose lock the caller has. The log goes last: as long as it is
/// there, the session can be deleted again.
pub(crate) fn remove_all(base: &Path, id: &SessionId) -> Result<Deleted, Error> {
    let (sessions, logs) = (&sessions_folder(base), &logs_folder(base));
    let mut deleted = Deleted::nothing(id);
    remove(record_path(sessions, id), &mut deleted)?;
    let folder = payload_folder(logs, id);
    remove_flat_folder(&folder, &mut deleted).map_err(cannot_remove(&folder))?;
    let folder = outputs::folder_of(base, id);
    remove_flat_folder(&folder, &mut deleted).map_err(cannot_remove(&folder))?;
    remove(log_path(logs, id), &mut deleted)?;
    Ok(deleted)
}

fn remove(path: PathBuf, deleted: &mut Deleted) -> Result<(), Error> {
    let gone = remove_file(&path).map_err(cannot_remove(&path))?;
    deleted.files.extend(gone.map(|bytes| DeletedFile { path, bytes }));
    Ok(())
}

/// Removes a file, or a link without what it points to; says how large it was, unless it was not there.
pub(crate) fn remove_file(path: &Path) -> io::Result<Option<u64>> {
    let Some(metadata) = files::found(path)? else { return Ok(None) };
    files::remove(path)?;
    Ok(Some(metadata.len()))
}

/// Removes a folder of files. A link in its place goes, and what it points to stays.
fn remove_flat_folder(folder: &Path, deleted: &mut Deleted) -> io::Result<()> {
    let Some(metadata) = files::found(folder)? else { return Ok(()) };
    if !metadata.is_dir() {
        return files::remove(folder);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push(DeletedFile { path: entry.path(), bytes: entry.metadata()?.len() });
    }
    files::remove_folder(folder)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    deleted.files.append(&mut files);
    Ok(())
}

fn cannot_remove(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let told = format!("cannot remove {}", path.display());
    move |error| Error::storage(told, error)
}
