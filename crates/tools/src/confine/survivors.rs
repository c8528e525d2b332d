//! Processes that outlive the command that started them.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mount_table::mounts_of;
use super::namespaces;

/// Whether a process runs in the mount namespace with this inode.
pub(super) fn any_in(mount_namespace: u64) -> bool {
    processes().any(|(_, namespace)| namespace == mount_namespace)
}

/// Whether a process that sees other mounts than this one has one at exactly `path`, as confined commands have at
/// protected names; also those of sessions that are gone.
pub(super) fn any_with_mount_at(path: &Path) -> bool {
    let mut seen: HashSet<u64> = namespaces::mount_namespace().into_iter().collect();
    processes().filter(|(_, namespace)| seen.insert(*namespace)).any(|(process, _)| {
        mounts_of(&process).is_ok_and(|mounts| mounts.iter().any(|mount| mount.point == path))
    })
}

/// Folders of processes with the inodes of their mount namespaces. Those of other users are not seen; none of them
/// is in a namespace of this user.
fn processes() -> impl Iterator<Item = (PathBuf, u64)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes
        .filter(|process| process.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit));
    numbered.filter_map(|process| {
        let namespace = fs::metadata(process.path().join("ns/mnt")).ok()?;
        Some((process.path(), namespace.ino()))
    })
}
