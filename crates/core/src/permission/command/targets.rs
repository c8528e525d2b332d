//! Files that redirections name, for deny and ask rules and for protection.

use std::path::{Path, PathBuf};

use super::pieces::{Pieces, Redirected};
use crate::permission::place::{Places, text_of};

/// The most folders that are tried for a relative name.
const MOST_FOLDERS: usize = 8;

/// A file that a redirection of a command line reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) struct FileTarget {
    pub(in crate::permission) writes: bool,
    /// As it is written.
    pub(in crate::permission) shown: String,
    /// The paths it may be, as texts.
    pub(in crate::permission) names: Vec<String>,
}

impl FileTarget {
    /// What the command does to it.
    pub(in crate::permission) fn verb(&self) -> &'static str {
        if self.writes { "writes" } else { "reads" }
    }
}

/// The files in `pieces`, of a command that begins in `cwd`.
pub(in crate::permission) fn file_targets(pieces: &Pieces, places: &Places, cwd: &Path) -> Vec<FileTarget> {
    if pieces.redirected().is_empty() {
        return Vec::new();
    }
    let folders = folders(pieces, cwd);
    pieces
        .redirected()
        .iter()
        .map(|Redirected { writes, name }| {
            let mut names = Vec::new();
            for folder in &folders {
                let literal =
                    if name.starts_with('~') { places.literal(name) } else { text_of(&folder.join(name)) };
                let resolved = resolve(Path::new(&literal)).map(|path| text_of(&path)).unwrap_or_default();
                for found in [literal, resolved] {
                    if !found.is_empty() && !names.contains(&found) {
                        names.push(found);
                    }
                }
            }
            FileTarget { writes: *writes, shown: name.clone(), names }
        })
        .collect()
}

/// Where the file is when symlinks on the way are followed; it need not be there yet.
fn resolve(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
}

/// The folders in which a part of the command may run.
fn folders(pieces: &Pieces, cwd: &Path) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    for target in pieces.changes_of_folder() {
        for folder in folders.clone() {
            let folder = folder.join(target);
            if folders.len() < MOST_FOLDERS && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}
