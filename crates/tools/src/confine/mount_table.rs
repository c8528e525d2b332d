//! What is mounted where, by `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::problem::{Doing, Problem};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) id: u64,
    /// Major and minor number of the device.
    pub(super) device: Vec<u8>,
    /// Which folder of the file system is mounted.
    pub(super) root: PathBuf,
    /// Where.
    pub(super) point: PathBuf,
    pub(super) flags: MountFlags,
}

/// Every mount that this process may see.
pub(super) fn mounts() -> Result<Vec<Mount>, Problem> {
    mounts_of(Path::new("/proc/self"))
}

/// Every mount that the process sees whose folder in `/proc` is this.
pub(super) fn mounts_of(process: &Path) -> Result<Vec<Mount>, Problem> {
    let file = process.join("mountinfo");
    let table = fs::read(&file).doing(|| format!("read {}", file.display()))?;
    let lines = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mounts: Option<Vec<Mount>> = lines.map(parse).collect();
    mounts.ok_or_else(|| Problem::because("understand /proc/self/mountinfo", "a line has another form"))
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = fields.nth(1)?.to_vec();
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    Some(Mount { id, device, root, point, flags: flags(fields.next()?) })
}

/// The flags that a remount must repeat, as it would take them away, which the kernel refuses.
fn flags(options: &[u8]) -> MountFlags {
    options.split(|byte| *byte == b',').fold(MountFlags::empty(), |flags, option| {
        flags
            | match option {
                b"ro" => MountFlags::RDONLY,
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"noatime" => MountFlags::NOATIME,
                b"nodiratime" => MountFlags::NODIRATIME,
                b"relatime" => MountFlags::RELATIME,
                b"nosymfollow" => MountFlags::NOSYMFOLLOW,
                _ => MountFlags::empty(),
            }
    })
}

/// Spaces and the like are written as three octal digits behind a backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let digits =
            behind.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match digits {
            Some(digits) if *first == b'\\' => {
                let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(value.to_le_bytes()[0]);
                rest = behind.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Every path at which the mounts show the file that is at `path`; `path` is among them.
pub(super) fn aliases(path: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    // The last mount of the longest path is the one that is seen.
    let holder = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let Some(holder) = holder.max_by_key(|mount| mount.point.components().count()) else {
        return vec![path.to_owned()];
    };
    let inside = join(&holder.root, path.strip_prefix(&holder.point).unwrap_or(path));
    let same_device = mounts.iter().filter(|mount| mount.device == holder.device);
    let shown =
        same_device.filter_map(|mount| Some(join(&mount.point, inside.strip_prefix(&mount.root).ok()?)));
    let mut all: Vec<PathBuf> = shown.chain([path.to_owned()]).collect();
    all.sort();
    all.dedup();
    all
}

/// `folder` and what is below it; joining nothing would leave a slash.
fn join(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_escapes() {
        let line = b"41 27 254:0 /with\\040space /mnt/a\\134b rw,nosuid,relatime master:3 - ext4 /dev/vda rw";
        let expected = Mount {
            id: 41,
            device: b"254:0".to_vec(),
            root: "/with space".into(),
            point: "/mnt/a\\b".into(),
            flags: MountFlags::NOSUID | MountFlags::RELATIME,
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b"41 27"), None);
    }

    #[test]
    fn a_file_is_found_at_every_mount_that_shows_it() {
        let table: [&[u8]; 4] = [
            b"1 0 8:1 / / rw - ext4 d rw",
            b"2 1 8:2 / /home rw - ext4 e rw",
            b"3 1 8:2 /me/work /srv/work rw - ext4 e rw",
            b"4 1 8:2 /other /srv/other rw - ext4 e rw",
        ];
        let mounts: Vec<Mount> = table.into_iter().map(|line| parse(line).unwrap()).collect();
        let key = PathBuf::from("/home/me/work/key");
        assert_eq!(aliases(&key, &mounts), [key.clone(), "/srv/work/key".into()]);
        assert_eq!(aliases(Path::new("/srv/work/key"), &mounts), [key, "/srv/work/key".into()]);
        assert_eq!(aliases(Path::new("/etc/key"), &mounts), [PathBuf::from("/etc/key")]);
    }
}
