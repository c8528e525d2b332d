//! Looking at a file before it is opened: what it is decides whether it is touched at all.

use std::io;
use std::path::Path;

use super::exact;
use super::missing::missing_path;
use super::reach::Content;
use super::stat::{Kind, Stat};
use crate::document::text::Unencodable;
use crate::failure::Failure;
use crate::input::PathInput;
use crate::workspace::Workspace;

/// What is known of the regular file at `path`; `None` when there is nothing.
///
/// # Errors
///
/// When it is a folder, a pipe, a device or a socket, or cannot be looked at; also when a symlink has taken
/// a place on the way since the path was resolved.
pub(super) fn regular_file(workspace: &Workspace, path: &Path) -> Result<Option<Stat>, Failure> {
    match workspace.look(path) {
        Ok(found) if found.kind == Kind::File => Ok(Some(found)),
        Ok(found) => Err(not_regular(&workspace.display(path), found.kind)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(file_above(workspace, path, &error))
        }
        Err(error) => Err(exact::failure(workspace, "look at", path, &error)),
    }
}

/// Opens the regular file at `path` for reading, without ever waiting for a writer.
///
/// # Errors
///
/// When there is no regular file that may be read; a missing one comes with similar names.
pub(super) fn open_regular(workspace: &Workspace, path: &Path) -> Result<(Content, Stat), Failure> {
    if regular_file(workspace, path)?.is_none() {
        return Err(missing_path(workspace, path));
    }
    let opened = workspace.open(path);
    let (content, stat) = opened.map_err(|error| exact::failure(workspace, "read", path, &error))?;
    // Another thing may have taken its place since the look.
    if stat.kind != Kind::File {
        return Err(not_regular(&workspace.display(path), stat.kind));
    }
    Ok((content, stat))
}

/// The path of a file that is to be changed.
///
/// # Errors
///
/// When it is written as that of a folder.
pub(super) fn named_file<'a>(workspace: &Workspace, input: &'a PathInput) -> Result<&'a Path, Failure> {
    let written = input.written();
    if written.ends_with('/') || written.ends_with("/.") || written.ends_with("/..") {
        let message = format!("{} names a folder; give the path of a file", written.escape_debug());
        return Err(Failure::new("is_folder", message));
    }
    Ok(input.resolve(workspace))
}

/// The failure for a text that the encoding of the file has no bytes for.
pub(super) fn unencodable(shown: &str, error: &Unencodable) -> Failure {
    let message = format!(
        "{shown} is not written: {error}, the encoding of the file; use other characters, or convert the file with a \
         program through Bash first"
    );
    Failure::new("unencodable", message)
}

/// The failure for a path that goes through a file as if it were a folder.
fn file_above(workspace: &Workspace, path: &Path, error: &io::Error) -> Failure {
    let is_file = |above: &&Path| workspace.look(above).is_ok_and(|found| found.kind != Kind::Folder);
    match path.ancestors().skip(1).find(is_file) {
        Some(above) => {
            let (shown, above) = (workspace.display(path), workspace.display(above));
            Failure::new("io_error", format!("there is no {shown}: {above} is a file, not a folder"))
        }
        None => exact::failure(workspace, "look at", path, error),
    }
}

fn not_regular(shown: &str, kind: Kind) -> Failure {
    let kind = match kind {
        Kind::Folder => return Failure::new("is_folder", format!("{shown} is a folder; list it with Glob")),
        Kind::Pipe => "a named pipe",
        Kind::Socket => "a socket",
        Kind::File | Kind::Symlink | Kind::Device => "a device",
    };
    Failure::new("not_regular", format!("{shown} is {kind}, not a regular file"))
}
