//! Which shell runs the commands.

use std::ffi::OsStr;
use std::path::PathBuf;

/// The first `bash` in the folders of `path` (a `PATH` value), else `/bin/sh`.
#[must_use]
pub fn find_shell(path: Option<&OsStr>) -> PathBuf {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let absolute = folders.filter(|folder| folder.is_absolute());
    let mut candidates = absolute.map(|folder| folder.join("bash"));
    candidates.find(|candidate| candidate.is_file()).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
