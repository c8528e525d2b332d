//! The file system as a confined command sees it: all of it, read-only but for some folders.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags, fstat, fstatvfs, openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};

use super::guarded;
use super::mount_table::{Mount, aliases, mounts};
use super::plan::Paths;
use super::problem::{Doing, Problem};

/// Asks `statx` for the id of the mount.
const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// What a path inside of the writable folders becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A mount, so that it cannot be renamed; else as before.
    Pinned,
    ReadOnly,
    /// Writable below something that is not.
    Open,
}

/// Makes everything read-only but `paths`, in the mount namespace of this process.
pub(super) fn apply(paths: &Paths) -> Result<(), Problem> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .doing(|| "keep mounts to itself".into())?;
    let writable = paths.writable();
    for root in &writable {
        for ancestor in between(root, &writable) {
            bind(&open(&ancestor)?, &ancestor)?;
        }
        bind(&open(root)?, root)?;
    }
    for mount in mounts()? {
        if !writable.iter().any(|root| mount.point.starts_with(root)) {
            make_read_only(&mount)?;
        }
    }
    for (path, part) in parts(paths, &writable) {
        change(&path, part)?;
    }
    own_terminals()?;
    let table = mounts()?;
    paths.hidden.iter().flat_map(|path| aliases(path, &table)).try_for_each(|path| hide(&path))
}

/// What to do to the paths inside of the writable folders; outer ones first.
fn parts(paths: &Paths, writable: &[&PathBuf]) -> BTreeMap<PathBuf, Part> {
    let mut parts = BTreeMap::new();
    let mut read_only: Vec<PathBuf> = Vec::new();
    for root in &paths.guarded {
        let found = guarded::find(root);
        let open = found.open.into_iter();
        // What the policy itself names stays as it is as a whole.
        let open = open.filter(|path| !paths.read_only.iter().any(|named| path.starts_with(named)));
        parts.extend(open.map(|path| (path, Part::Open)));
        read_only.extend(found.read_only);
    }
    read_only.extend(paths.read_only.iter().cloned());
    let targets =
        read_only.iter().filter(|path| path.is_symlink()).filter_map(|path| fs::canonicalize(path).ok());
    let targets: Vec<PathBuf> = targets.collect();
    for path in read_only.into_iter().chain(targets) {
        if !writable.iter().any(|root| path.starts_with(root)) {
            continue;
        }
        for ancestor in between(&path, writable) {
            parts.entry(ancestor).or_insert(Part::Pinned);
        }
        parts.insert(path, Part::ReadOnly);
    }
    // Moved with the folder around it, it would not be found the next time.
    for ancestor in paths.hidden.iter().flat_map(|path| between(path, writable)) {
        parts.entry(ancestor).or_insert(Part::Pinned);
    }
    parts
}

/// The folders between `path` and the innermost writable folder around it, without both; outer ones first.
fn between(path: &Path, writable: &[&PathBuf]) -> Vec<PathBuf> {
    let around = writable.iter().filter(|root| path.starts_with(root) && path != root.as_path());
    let Some(root) = around.max_by_key(|root| root.components().count()) else { return Vec::new() };
    let ancestors = path.ancestors().skip(1).take_while(|folder| *folder != root.as_path());
    let mut between: Vec<PathBuf> = ancestors.map(Path::to_owned).collect();
    between.reverse();
    between
}

fn change(path: &Path, part: Part) -> Result<(), Problem> {
    let before = match open(path) {
        Ok(before) => before,
        // It went away since it was found; what comes in its place is as good as any new name.
        Err(problem) if problem.is_not_found() => return Ok(()),
        Err(problem) => return Err(problem),
    };
    bind(&before, path)?;
    let after = open(path)?;
    let same = |one: &OwnedFd, other: &OwnedFd| {
        let (one, other) = (fstat(one)?, fstat(other)?);
        Ok::<_, Errno>((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    };
    if !same(&before, &after).doing(|| format!("look at {}", path.display()))? {
        return Err(Problem::because(format!("protect {}", path.display()), "it changed at this moment"));
    }
    let flags = flags_of(&after).doing(|| format!("look at {}", path.display()))?;
    let flags = match part {
        Part::Pinned => return Ok(()),
        Part::ReadOnly => flags | MountFlags::RDONLY,
        Part::Open => flags - MountFlags::RDONLY,
    };
    mount_remount(by_handle(&after), MountFlags::BIND | flags, "")
        .doing(|| format!("protect {}", path.display()))
}

/// Makes a mount that was there before read-only.
fn make_read_only(mount: &Mount) -> Result<(), Problem> {
    if mount.flags.contains(MountFlags::RDONLY) {
        return Ok(());
    }
    match statx(CWD, &mount.point, AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW, MOUNT_ID) {
        // Another mount lies over it, so that nobody reaches it.
        Ok(seen) if seen.stx_mask & MOUNT_ID.bits() != 0 && seen.stx_mnt_id != mount.id => return Ok(()),
        // Nor here: it is below a folder that another mount covers, or that this user may not enter.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(()),
        // What is seen could not be told; the change itself says more.
        Ok(_) | Err(_) => {}
    }
    mount_remount(&mount.point, MountFlags::BIND | MountFlags::RDONLY | mount.flags, "")
        .doing(|| format!("make {} read-only", mount.point.display()))
}

/// Gives the command terminals of its own: those of the user could be written to, and what is typed there be read.
fn own_terminals() -> Result<(), Problem> {
    let (folder, multiplexer) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
    if !folder.is_dir() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    if mount("devpts", folder, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620").is_err() {
        return hide(folder);
    }
    if multiplexer.is_symlink() || !multiplexer.exists() {
        return Ok(());
    }
    mount_bind(folder.join("ptmx"), multiplexer).doing(|| "make terminals of its own".into())
}

/// Takes a file or folder out of sight.
fn hide(path: &Path) -> Result<(), Problem> {
    let found = match open(path) {
        Ok(found) => found,
        Err(problem) if problem.is_not_found() => return Ok(()),
        Err(problem) => return Err(problem),
    };
    let is_folder = fs::metadata(path).doing(|| format!("look at {}", path.display()))?.is_dir();
    let hidden = if is_folder {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("none", by_handle(&found), "tmpfs", flags, c"mode=000,size=4k")
    } else {
        mount_bind("/dev/null", by_handle(&found))
    };
    hidden.doing(|| format!("hide {}", path.display()))
}

fn bind(found: &OwnedFd, path: &Path) -> Result<(), Problem> {
    let place = by_handle(found);
    mount_bind_recursive(&place, &place).doing(|| format!("mount {} on itself", path.display()))
}

/// The file at exactly this path.
fn open(path: &Path) -> Result<OwnedFd, Problem> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .doing(|| format!("open {}", path.display()))
}

/// A path that leads to an open file and nowhere else.
fn by_handle(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The flags of the mount that a file is on.
fn flags_of(file: &OwnedFd) -> Result<MountFlags, Errno> {
    let seen = fstatvfs(file)?.f_flag;
    let known = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
        (StatVfsMountFlags::from_bits_retain(0x2000), MountFlags::NOSYMFOLLOW),
    ];
    let set = known.into_iter().filter(|(flag, _)| seen.contains(*flag));
    Ok(set.fold(MountFlags::empty(), |flags, (_, flag)| flags | flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_around_what_is_protected_are_pinned() {
        let (outer, inner) = (PathBuf::from("/tmp"), PathBuf::from("/tmp/a/work"));
        let writable = [&outer, &inner];
        assert_eq!(between(&inner, &writable), [PathBuf::from("/tmp/a")]);
        assert_eq!(
            between(Path::new("/tmp/a/work/.git/hooks"), &writable),
            [PathBuf::from("/tmp/a/work/.git")]
        );
        assert!(between(Path::new("/tmp/a/work/.envrc"), &writable).is_empty());
        assert!(between(Path::new("/etc/passwd"), &writable).is_empty());
    }
}
