//! Looking at a file before it is opened: what it is decides whether it is touched at all.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::exact;
use super::missing::missing_path;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The metadata of the regular file at `path`; `None` when there is nothing.
///
/// # Errors
///
/// When it is a folder, a pipe, a device or a socket, or cannot be looked at; also when a symlink has taken
/// a place on the way since the path was resolved.
pub(super) fn regular_file(workspace: &Workspace, path: &Path) -> Result<Option<Metadata>, Failure> {
    match exact::look(path).and_then(|found| found.metadata()) {
        Ok(found) if found.is_file() => Ok(Some(found)),
        Ok(found) => Err(not_regular(&workspace.display(path), found.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(exact::failure(workspace, "look at", path, &error)),
    }
}

/// Opens the regular file at `path` for reading, without ever waiting for a writer.
///
/// # Errors
///
/// When there is no regular file that may be read; a missing one comes with similar names.
pub(super) fn open_regular(workspace: &Workspace, path: &Path) -> Result<(File, Metadata), Failure> {
    if regular_file(workspace, path)?.is_none() {
        return Err(missing_path(workspace, path));
    }
    let failed = |error| exact::failure(workspace, "read", path, &error);
    let file = exact::open_file(path).map_err(failed)?;
    // Another thing may have taken its place since the look.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(not_regular(&workspace.display(path), metadata.file_type()));
    }
    Ok((file, metadata))
}

fn not_regular(shown: &str, kind: FileType) -> Failure {
    if kind.is_dir() {
        return Failure::new("is_folder", format!("{shown} is a folder; list it with Glob"));
    }
    let kind = match kind {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Failure::new("not_regular", format!("{shown} is {kind}, not a regular file"))
}
