//! The one place of this crate that opens, creates and replaces files.
//!
//! The folder of a project may come from anyone, so nothing here follows a symbolic link, and nothing
//! but a regular file is opened: what is written stays in the project, and a pipe holds nobody up. Files are private to the user (0600, folders 0700), and are replaced whole: temporary file in
//! the same folder, write, fsync, rename, fsync of the folder (design section 5).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// How the names of files begin that are being written.
pub(crate) const TEMPORARY: &str = ".writing-";

/// What a file must be to be opened here.
const REGULAR: &str = "a regular file";

/// Makes `folder` in an existing folder, private to the user; one that is there stays as it is.
///
/// With `hide`, a folder made here gets a `.gitignore` that hides all of it, so that logs are never
/// committed by accident.
pub(crate) fn make_private_folder(folder: &Path, hide: bool) -> io::Result<()> {
    match private_builder().create(folder) {
        Ok(()) if hide => replace(&folder.join(".gitignore"), b"*\n"),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(error) => {
            if is_own_folder(folder)? {
                Ok(())
            } else {
                Err(error)
            }
        }
        Ok(()) => Ok(()),
    }
}

/// Makes `folder` in an existing folder, private to the user.
///
/// # Errors
///
/// Also when something is there already, whoever made it.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    private_builder().create(folder)
}

/// Whether `folder` is there.
///
/// # Errors
///
/// When something else is: a symbolic link to a folder, too.
pub(crate) fn is_own_folder(folder: &Path) -> io::Result<bool> {
    match found(folder)? {
        Some(metadata) if !metadata.is_dir() => Err(refused(metadata.file_type(), "a folder")),
        metadata => Ok(metadata.is_some()),
    }
}

/// What is at `path`, without following a link there; `None` when nothing is.
pub(crate) fn found(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens `path` for reading.
pub(crate) fn open_read(path: &Path) -> io::Result<File> {
    open(path, private_options().read(true))
}

/// Opens `path` for appending, and makes it when it does not exist.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    open(path, private_options().append(true).create(true))
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
    open(path, private_options().read(true).write(true).create(true).truncate(false))
}

/// Opens a regular file that is no link, without waiting.
fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Where the system cannot be told to follow no links.
    if cfg!(not(unix)) {
        check_regular(path)?;
    }
    // The system's own reason, such as too many levels of links, would say little.
    let file = options.open(path).map_err(|error| check_regular(path).err().unwrap_or(error))?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(file) } else { Err(refused(metadata.file_type(), REGULAR)) }
}

/// Refuses what stands at `path` unless it is a regular file, or nothing.
fn check_regular(path: &Path) -> io::Result<()> {
    match found(path)? {
        Some(metadata) if !metadata.is_file() => Err(refused(metadata.file_type(), REGULAR)),
        _ => Ok(()),
    }
}

fn refused(what: fs::FileType, wanted: &str) -> io::Error {
    let what = if what.is_symlink() {
        "a symbolic link, which is not followed here"
    } else if what.is_dir() {
        "a folder"
    } else if what.is_file() {
        "a file"
    } else {
        "a pipe, socket or device"
    };
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}; it must be {wanted}"))
}

/// Replaces `path` by `content`, all or nothing.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Puts `content` at `path`, all or nothing, without waiting for the disk.
pub(crate) fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether `path` is a file with that `content`.
pub(crate) fn has_content(path: &Path, content: &[u8]) -> io::Result<bool> {
    let file = match open_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() != content.len() as u64 {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(content.len());
    file.take(content.len() as u64 + 1).read_to_end(&mut found)?;
    Ok(found == content)
}

/// Makes the file at `path` survive the death of the machine.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    open(path, private_options().append(true))?.sync_all()
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

/// Removes `folder` with all that is in it, and where it is a link only that; one that is not there is no
/// error.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    match found(folder)? {
        Some(metadata) if metadata.is_dir() => fs::remove_dir_all(folder),
        Some(_) => remove(folder),
        None => Ok(()),
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
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
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

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let (link, pipe, folder) =
            (root.path().join("link"), root.path().join("pipe"), root.path().join("to"));
        std::os::unix::fs::symlink(root.path().join("nothing"), &link).unwrap();
        std::os::unix::fs::symlink(root.path(), &folder).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for open in [open_read, open_append, open_in_place] {
            let told = open(&link).unwrap_err().to_string();
            assert_eq!(told, "it is a symbolic link, which is not followed here; it must be a regular file");
            let told = open(&pipe).unwrap_err().to_string();
            assert_eq!(told, "it is a pipe, socket or device; it must be a regular file");
        }
        assert!(create_append(&link).is_err());
        assert!(!root.path().join("nothing").exists());
        assert!(make_private_folder(&link, true).unwrap_err().to_string().contains("symbolic link"));
        assert!(make_private_folder(&folder, true).unwrap_err().to_string().contains("must be a folder"));
        assert!(!root.path().join(".gitignore").exists());
    }

    #[test]
    fn a_replaced_file_leaves_no_temporary_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        put(&path, b"three").unwrap();
        assert!(has_content(&path, b"three").unwrap() && !has_content(&path, b"eerht").unwrap());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
