//! Replacing a file as a whole or not at all.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, access};

/// Mode of a new file before the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// Puts `content` at `path`: temporary file in the same folder, write, fsync, rename, fsync of the
/// folder. Mode and, where allowed, owner of an existing file stay; hard links to it are cut.
///
/// `path` must be resolved: a symlink there would be replaced, not followed. Returns the metadata
/// of the new file.
///
/// # Errors
///
/// When the folder or the existing file may not be written, or there is no room. The file at
/// `path` is then untouched, and nothing is left beside it.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let existing = match fs::symlink_metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if existing.is_some() {
        access(path, Access::WRITE_OK)?;
    }
    let mut temporary = tempfile::Builder::new();
    temporary.prefix(".robota-").suffix(".tmp");
    if existing.is_none() {
        temporary.permissions(Permissions::from_mode(NEW_FILE_MODE));
    }
    let mut file = temporary.tempfile_in(folder)?;
    file.write_all(content)?;
    if let Some(existing) = &existing {
        keep_owner_and_mode(file.as_file(), existing)?;
    }
    file.as_file().sync_all()?;
    let file = file.persist(path).map_err(|failed| failed.error)?;
    // The content is in place; a folder that cannot be synced only makes that less durable.
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        tracing::warn!(%error, folder = %folder.display(), "the folder of a new file was not synced");
    }
    file.metadata()
}

fn keep_owner_and_mode(file: &File, existing: &Metadata) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.uid(), existing.gid()) {
        // Only a privileged process may give files away; the content counts more than the owner.
        if let Err(error) = fchown(file, Some(existing.uid()), Some(existing.gid())) {
            tracing::debug!(%error, "the owner of a replaced file changes");
        }
    }
    file.set_permissions(existing.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_keeps_its_mode_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sh");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let metadata = replace(&path, b"new").unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o751);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_gets_the_mode_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let plain = File::create_new(folder.path().join("plain")).unwrap();
        let metadata = replace(&folder.path().join("ours"), b"").unwrap();
        assert_eq!(metadata.mode(), plain.metadata().unwrap().mode());
    }

    #[test]
    fn a_rename_that_fails_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("folder");
        fs::create_dir(&target).unwrap();
        assert!(replace(&target, b"content").is_err());
        assert!(target.is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
