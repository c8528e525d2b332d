//! What a file carries beside its content, handed on to the one that takes its place.

use std::ffi::{CStr, OsStr};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{
    Mode, OFlags, Stat, XattrFlags, fgetxattr, flistxattr, flistxattr_query, fsetxattr, openat,
};

/// Names and values of extended attributes that are handed on, in bytes each.
const MAX_ATTRIBUTES: usize = 64 * 1024;
/// Extended attributes that are handed on: those of users, and access lists. What grants power to a program, such as
/// capabilities, belongs to the old content.
const KEPT: [&str; 2] = ["user.", "system.posix_acl_access"];
const MODE: u32 = 0o1777;
/// Run as the owner or group of the file.
const SET_IDS: u32 = 0o6000;

/// Gives `file` the owner, mode and extended attributes of `existing`, which is `name` in `folder`, as far as this
/// process may.
///
/// # Errors
///
/// When the mode cannot be set.
pub(super) fn hand_on(folder: BorrowedFd<'_>, name: &OsStr, existing: &Stat, file: &File) -> io::Result<()> {
    let mut mode = existing.st_mode & (MODE | SET_IDS);
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.st_uid, existing.st_gid) {
        // Only a privileged process may give files away; the content counts more than the owner.
        if let Err(error) = fchown(file, Some(existing.st_uid), Some(existing.st_gid)) {
            tracing::debug!(%error, "the owner of a replaced file changes");
            // Nobody gets a program that runs with other rights than before.
            mode &= MODE;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    if let Err(error) = copy_attributes(folder, name, file) {
        tracing::debug!(%error, "extended attributes of a replaced file are lost");
    }
    Ok(())
}

fn copy_attributes(folder: BorrowedFd<'_>, name: &OsStr, file: &File) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let old = openat(folder, name, flags, Mode::empty())?;
    // The usual case costs one call.
    let size = flistxattr_query(&old)?;
    if size == 0 {
        return Ok(());
    }
    let mut names = vec![0; size.min(MAX_ATTRIBUTES)];
    let size = flistxattr(&old, names.as_mut_slice())?;
    names.truncate(size);
    let mut value = vec![0; MAX_ATTRIBUTES];
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Some(name) = CStr::from_bytes_with_nul(name).ok().and_then(|name| name.to_str().ok()) else {
            continue;
        };
        if KEPT.iter().any(|kept| name.starts_with(kept)) {
            let size = fgetxattr(&old, name, value.as_mut_slice())?;
            fsetxattr(file, name, value.get(..size).unwrap_or_default(), XattrFlags::empty())?;
        }
    }
    Ok(())
}
