//! Namespaces of users, mounts and messages.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};

use super::plan::Namespaces;
use super::problem::{Doing, Problem};

/// Enters namespaces of its own.
pub(super) fn enter(namespaces: Namespaces) -> Result<(), Problem> {
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    match namespaces {
        Namespaces::None => Ok(()),
        Namespaces::Privileged => unshare(own).doing(|| "make a mount namespace".into()),
        Namespaces::Owned => {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            unshare(own | CloneFlags::CLONE_NEWUSER).doing(|| "make a user namespace".into())?;
            // Only who has one id outside may be that one inside.
            set("/proc/self/setgroups", "deny")?;
            set("/proc/self/uid_map", &format!("{user} {user} 1"))?;
            set("/proc/self/gid_map", &format!("{group} {group} 1"))
        }
    }
}

/// The inode by which the mount namespace of this process is known.
pub(super) fn mount_namespace() -> io::Result<u64> {
    std::fs::metadata("/proc/self/ns/mnt").map(|namespace| namespace.ino())
}

/// The inode by which the user namespace of this process is known.
pub(super) fn user_namespace() -> io::Result<u64> {
    std::fs::metadata("/proc/self/ns/user").map(|namespace| namespace.ino())
}

fn set(file: &str, value: &str) -> Result<(), Problem> {
    let written =
        OpenOptions::new().write(true).open(file).and_then(|mut file| file.write_all(value.as_bytes()));
    written.doing(|| format!("write {file}"))
}
