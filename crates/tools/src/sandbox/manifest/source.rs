//! Reading what a manifest takes from this machine, by handle: no symlink leads out of the host's folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Dir, readlinkat};

use super::super::error::{SandboxError, SandboxErrorKind};
use crate::files::{Kind, Stat, exact};
use crate::workspace::resolve_links;

/// Bytes copied from this machine for one manifest.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Files, folders and symlinks copied from this machine for one manifest.
const MAX_ITEMS: usize = 100_000;
/// Folders in folders.
const MAX_DEPTH: usize = 100;

/// Something that was read.
pub(super) enum Found {
    Folder,
    File { content: Vec<u8>, executable: bool },
    Link { target: PathBuf },
}

/// The folder of this machine that sources lie in, and what may still be taken from it.
pub(super) struct Host {
    root: PathBuf,
    bytes: u64,
    items: usize,
}

impl Host {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: resolve_links(root), bytes: MAX_BYTES, items: MAX_ITEMS }
    }

    /// The file `src`.
    pub(super) fn file(&mut self, src: &str) -> Result<Found, SandboxError> {
        self.read_file(&self.locate(src)?)
    }

    /// The folder `src` with all that is in it: paths relative to it, folders before what they hold. The folder
    /// itself comes first, with an empty path.
    pub(super) fn folder(&mut self, src: &str) -> Result<Vec<(PathBuf, Found)>, SandboxError> {
        let top = self.locate(src)?;
        let mut found = Vec::new();
        self.read_folder(&top, &PathBuf::new(), &mut found)?;
        Ok(found)
    }

    fn locate(&self, src: &str) -> Result<PathBuf, SandboxError> {
        let refused = |why: &str| {
            let message = format!("the source {src:?} {why} {}", self.root.display());
            let hint = "copy it below the host's folder, or apply the manifest from a folder above it";
            Err(SandboxError::new(SandboxErrorKind::NotPermitted, message).with_hint(hint))
        };
        if src.is_empty() || src.contains('\0') {
            return refused("is no path in");
        }
        let written = Path::new(src);
        if written.components().any(|part| part == Component::ParentDir) {
            return refused("climbs by `..` out of what may lie outside of");
        }
        let path = self.root.join(written);
        if path.starts_with(&self.root) {
            Ok(path.components().collect())
        } else {
            refused("lies outside of")
        }
    }

    fn read_folder(
        &mut self,
        top: &Path,
        below: &Path,
        found: &mut Vec<(PathBuf, Found)>,
    ) -> Result<(), SandboxError> {
        let folder = top.join(below);
        if below.components().count() > MAX_DEPTH {
            return Err(too_large(&folder, "has more folders in folders than 100"));
        }
        let failed = |error| Self::failed(&folder, error);
        let handle = exact::open_folder(&folder).map_err(failed)?;
        self.take_item(&folder)?;
        found.push((below.to_owned(), Found::Folder));
        let mut names = names(&handle).map_err(failed)?;
        names.sort();
        for name in names {
            let (below, path) = (below.join(&name), folder.join(&name));
            match exact::look(&path).and_then(|held| held.metadata()) {
                Ok(metadata) if metadata.is_dir() => self.read_folder(top, &below, found)?,
                Ok(_) => {
                    let file = self.read_file(&path)?;
                    found.push((below, file));
                }
                Err(error) if exact::is_link_error(&error) => {
                    self.take_item(&path)?;
                    found.push((below.clone(), Found::Link { target: link(&handle, &name, &below, &path)? }));
                }
                Err(error) => return Err(Self::failed(&path, error)),
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> Result<Found, SandboxError> {
        self.take_item(path)?;
        let failed = |error| Self::failed(path, error);
        // Looked at before it is opened: opening a device may do something.
        let stat = Stat::from(&exact::look(path).and_then(|held| held.metadata()).map_err(failed)?);
        if stat.kind != Kind::File {
            let message = format!("the source {} is not a regular file", path.display());
            return Err(SandboxError::new(SandboxErrorKind::WrongKind, message));
        }
        let file = exact::open_file(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() > self.bytes {
            return Err(too_large(path, "does not fit into the 256 MiB that a manifest may copy"));
        }
        let content = self.read_bounded(file, path)?;
        Ok(Found::File { content, executable: metadata.permissions().mode() & 0o111 != 0 })
    }

    fn read_bounded(&mut self, file: File, path: &Path) -> Result<Vec<u8>, SandboxError> {
        let mut content = Vec::new();
        let read = file.take(self.bytes + 1).read_to_end(&mut content);
        let read = read.map_err(|error| Self::failed(path, error))? as u64;
        let Some(left) = self.bytes.checked_sub(read) else {
            return Err(too_large(path, "does not fit into the 256 MiB that a manifest may copy"));
        };
        self.bytes = left;
        Ok(content)
    }

    fn take_item(&mut self, path: &Path) -> Result<(), SandboxError> {
        let Some(left) = self.items.checked_sub(1) else {
            return Err(too_large(path, "is one more than the 100,000 files that a manifest may copy"));
        };
        self.items = left;
        Ok(())
    }

    fn failed(path: &Path, error: io::Error) -> SandboxError {
        if exact::is_link_error(&error) {
            let message = format!("a symlink stands on the way to the source {}", path.display());
            return SandboxError::new(SandboxErrorKind::NotPermitted, message)
                .with_source(error)
                .with_hint("name what it leads to instead");
        }
        SandboxError::io("read the source", path, error)
    }
}

fn too_large(path: &Path, why: &str) -> SandboxError {
    let message = format!("the source {} {why}", path.display());
    SandboxError::new(SandboxErrorKind::TooLarge, message).with_hint("use a gitRepo entry for large trees")
}

fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Where a symlink leads, when that is inside of the copied folder.
fn link(folder: &OwnedFd, name: &OsStr, below: &Path, path: &Path) -> Result<PathBuf, SandboxError> {
    let target = readlinkat(folder, name, Vec::new());
    let target = target.map_err(|error| Host::failed(path, error.into()))?;
    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
    if stays_inside(below, &target) {
        return Ok(target);
    }
    let message =
        format!("the symlink {} leads to {}, out of the copied folder", path.display(), target.display());
    Err(SandboxError::new(SandboxErrorKind::NotPermitted, message))
}

/// Whether the symlink at `below` of a folder leads to a place in that folder. A `..` behind a name is not taken:
/// where that name is a symlink itself, it would climb from somewhere else.
fn stays_inside(below: &Path, target: &Path) -> bool {
    let above = below.components().count().saturating_sub(1);
    let climbs = target.components().take_while(|part| *part == Component::ParentDir).count();
    let mut rest = target.components().skip(climbs);
    climbs <= above && rest.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlinks_climb_only_as_far_as_the_folder_reaches() {
        let inside = |below: &str, target: &str| stays_inside(Path::new(below), Path::new(target));
        assert!(inside("a/b/l", "../../c") && inside("l", "a/b") && inside("l", "./a"));
        assert!(!inside("a/b/l", "../../../c") && !inside("l", "/etc") && !inside("a/l", "x/../../y"));
    }
}
