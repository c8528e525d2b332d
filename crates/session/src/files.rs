//! The one place of this crate that creates and replaces files.
//!
//! Files are private to the user (0600, folders 0700), and are replaced whole: temporary file in
//! the same folder, write, fsync, rename, fsync of the folder (design section 5).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Makes `folder` in an existing folder, private to the user; one that is there stays as it is.
///
/// With `hide`, a folder made here gets a `.gitignore` that hides all of it, so that logs are never
/// committed by accident.
pub(crate) fn make_private_folder(folder: &Path, hide: bool) -> io::Result<()> {
    match private_builder().create(folder) {
        Ok(()) if hide => replace(&folder.join(".gitignore"), b"*\n"),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => Err(error),
        _ => Ok(()),
    }
}

/// Opens `path` for appending, and makes it when it does not exist.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    private_options().append(true).create(true).open(path)
}

/// Makes `path` for appending.
///
/// # Errors
///
/// Also when it exists.
pub(crate) fn create_append(path: &Path) -> io::Result<File> {
    private_options().append(true).create_new(true).open(path)
}

/// Opens `path` for reading and writing in place, and makes it when it does not exist.
pub(crate) fn open_in_place(path: &Path) -> io::Result<File> {
    private_options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Replaces `path` by `content`, all or nothing.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Makes the entries of `folder` survive the death of the machine.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes `path`; a file that is not there is no error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn private_builder() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn private_builder() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(unix)]
fn private_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_options() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn folders_and_files_are_private_and_hidden_from_git() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("logs");
        make_private_folder(&folder, true).unwrap();
        open_append(&folder.join("a.jsonl")).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("a.jsonl")), 0o600);
        assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn a_folder_that_was_there_keeps_its_own_rules() {
        let root = tempfile::tempdir().unwrap();
        make_private_folder(root.path(), true).unwrap();
        assert!(!root.path().join(".gitignore").exists());
        replace(&root.path().join("file"), b"").unwrap();
        assert!(make_private_folder(&root.path().join("file"), true).is_err());
    }

    #[test]
    fn a_replaced_file_leaves_no_temporary_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
