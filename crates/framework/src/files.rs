//! The one place of this crate that writes files: settings and decisions of the user.
//!
//! The folder of a project may come from anyone, so no symbolic link is followed to what is written. Files are
//! private to the user (0600, folders 0700) and replaced whole.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Makes `folder`, private to the user; true when it was not there. Folders above it are made too.
///
/// # Errors
///
/// Also when something else is there: a symbolic link to a folder, too.
pub(crate) fn make_folder(folder: &Path) -> io::Result<bool> {
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(false),
        Ok(_) => Err(refused("it must be a folder, and no symbolic link to one")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// Waits until this process is the only one that changes files in `folder`, as long as the result is held.
/// The system drops the lock with the process.
pub(crate) fn lock_folder(folder: &Path) -> io::Result<File> {
    let held = OpenOptions::new().read(true).custom_flags(flags(OFlags::DIRECTORY)).open(folder)?;
    held.lock()?;
    Ok(held)
}

/// The file at `path` with its text; `None` when there is none.
///
/// # Errors
///
/// Also when it is a link, no regular file, no text, or larger than `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<(File, String)>> {
    let opened = OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => {
            return Err(refused("it is a symbolic link, which is not followed here"));
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(refused("it is not a regular file"));
    }
    if found.len() > limit {
        return Err(refused(&format!("it has more than {limit} bytes")));
    }
    let mut text = String::new();
    (&file).take(limit).read_to_string(&mut text)?;
    Ok(Some((file, text)))
}

/// Puts `content` at `path`, all or nothing: temporary file in the same folder, write, fsync, rename, fsync
/// of the folder.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

fn flags(more: OFlags) -> i32 {
    (OFlags::NOFOLLOW | more).bits().cast_signed()
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}
