//! Processes that outlive the command that started them.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Whether a process runs in the mount namespace with this inode. Those of other users are not seen; none of
/// them is in a namespace of this user.
pub(super) fn any_in(mount_namespace: u64) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter(|process| process.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit));
    let mut namespaces = numbered.filter_map(|process| fs::metadata(process.path().join("ns/mnt")).ok());
    namespaces.any(|namespace| namespace.ino() == mount_namespace)
}
