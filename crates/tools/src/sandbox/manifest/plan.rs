//! A manifest that has been checked, as steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::layout::relative;
use super::shape::{FileEncoding, ManifestEntry, WorkspaceManifest};
use super::source::{Found, Host};
use super::{EntryReport, EntryStatus, GitClone, ManifestReport};

/// What is to be done, parents first, and what will be told of it.
pub(in crate::sandbox) struct Plan {
    /// In the order in which they are done.
    pub(in crate::sandbox) steps: BTreeMap<PathBuf, Step>,
    /// Paths at which nothing may be before.
    pub(in crate::sandbox) fresh: Vec<PathBuf>,
    pub(in crate::sandbox) report: ManifestReport,
}

/// What is to be at a path, which is relative to the root.
pub(in crate::sandbox) enum Step {
    Folder,
    File { content: Vec<u8>, executable: bool },
    Link { target: PathBuf },
    Clone(GitClone),
}

impl Step {
    fn holds_others(&self) -> bool {
        matches!(self, Self::Folder | Self::Clone(_))
    }
}

impl Plan {
    /// Checks `manifest` and reads what it takes from `host_root`. This may block.
    pub(in crate::sandbox) fn new(
        manifest: &WorkspaceManifest,
        host_root: &Path,
    ) -> Result<Self, SandboxError> {
        let mut plan = Self { steps: BTreeMap::new(), fresh: Vec::new(), report: ManifestReport::default() };
        let mut host = Host::new(host_root);
        let mut paths = BTreeMap::new();
        for written in manifest.entries.keys() {
            let path: PathBuf = relative(written)?.iter().collect();
            if let Some(other) = paths.insert(path, written) {
                return Err(conflict(written, &format!("is the same place as {other:?}")));
            }
        }
        // Parents before what lies in them, whatever their spelling.
        for (path, written) in paths {
            let Some(entry) = manifest.entries.get(written) else { continue };
            let unsupported = plan.add(written, &path, entry, &mut host)?;
            plan.report.entries.push(EntryReport {
                path: path.to_string_lossy().into_owned(),
                kind: entry.kind(),
                status: if unsupported.is_some() { EntryStatus::Unsupported } else { EntryStatus::Applied },
                message: unsupported,
            });
        }
        plan.check_parents()?;
        Ok(plan)
    }

    /// Adds the steps of an entry; gives the reason where it is not supported.
    fn add(
        &mut self,
        written: &str,
        path: &Path,
        entry: &ManifestEntry,
        host: &mut Host,
    ) -> Result<Option<String>, SandboxError> {
        match entry {
            ManifestEntry::Dir {} => return self.put(written, path.to_owned(), Step::Folder).map(|()| None),
            ManifestEntry::File { content, encoding } => {
                let content = decode(written, content, *encoding)?;
                self.put(written, path.to_owned(), Step::File { content, executable: false })?;
            }
            ManifestEntry::LocalFile { src } => {
                let found = host.file(src).map_err(|error| from_source(written, error))?;
                self.put(written, path.to_owned(), found.into())?;
            }
            ManifestEntry::LocalDir { src } => {
                let found = host.folder(src).map_err(|error| from_source(written, error))?;
                for (below, found) in found {
                    // Joining nothing would put a slash behind.
                    let path = if below.as_os_str().is_empty() { path.to_owned() } else { path.join(below) };
                    self.put(written, path, found.into())?;
                }
            }
            ManifestEntry::GitRepo { url, reference, shallow, depth } => {
                let depth = if *shallow == Some(false) { None } else { Some(depth.unwrap_or(1)) };
                let clone = GitClone::new(written, url, reference.as_deref(), depth)?;
                self.put(written, path.to_owned(), Step::Clone(clone))?;
            }
            ManifestEntry::S3Mount { .. }
            | ManifestEntry::GcsMount { .. }
            | ManifestEntry::R2Mount { .. }
            | ManifestEntry::AzureBlobMount { .. } => {
                return Ok(Some(
                    "this sandbox cannot mount buckets; nothing was made at the path".to_owned(),
                ));
            }
        }
        self.fresh.push(path.to_owned());
        Ok(None)
    }

    fn put(&mut self, written: &str, path: PathBuf, step: Step) -> Result<(), SandboxError> {
        match self.steps.get(&path) {
            Some(Step::Folder) if matches!(step, Step::Folder) => {}
            Some(_) => return Err(conflict(written, &format!("makes {} twice", path.display()))),
            None => drop(self.steps.insert(path, step)),
        }
        Ok(())
    }

    /// Nothing lies below a file or a symlink.
    fn check_parents(&self) -> Result<(), SandboxError> {
        for path in self.steps.keys() {
            let above = path
                .ancestors()
                .skip(1)
                .find(|above| self.steps.get(*above).is_some_and(|step| !step.holds_others()));
            if let Some(above) = above {
                let why = format!("would lie below {}, which is no folder", above.display());
                return Err(conflict(&path.to_string_lossy(), &why));
            }
        }
        Ok(())
    }

    /// Tells of the entries for which a step is a clone that this sandbox cannot make, and forgets those.
    pub(in crate::sandbox) fn without_clones(&mut self, why: &str) {
        let clones: Vec<_> = self.steps.extract_if(.., |_, step| matches!(step, Step::Clone(_))).collect();
        for (path, _) in clones {
            self.fresh.retain(|fresh| *fresh != path);
            for entry in self.report.entries.iter_mut().filter(|entry| Path::new(&entry.path) == path) {
                entry.status = EntryStatus::Unsupported;
                entry.message = Some(why.to_owned());
            }
        }
    }
}

impl From<Found> for Step {
    fn from(found: Found) -> Self {
        match found {
            Found::Folder => Self::Folder,
            Found::File { content, executable } => Self::File { content, executable },
            Found::Link { target } => Self::Link { target },
        }
    }
}

fn decode(written: &str, content: &str, encoding: Option<FileEncoding>) -> Result<Vec<u8>, SandboxError> {
    match encoding.unwrap_or(FileEncoding::Utf8) {
        FileEncoding::Utf8 => Ok(content.as_bytes().to_vec()),
        FileEncoding::Base64 => STANDARD.decode(content).map_err(|error| {
            conflict(written, &format!("holds content that is not base 64: {error}")).with_source(error)
        }),
    }
}

fn conflict(written: &str, why: &str) -> SandboxError {
    SandboxError::new(SandboxErrorKind::InvalidManifest, format!("entries.{written:?} {why}"))
}

fn from_source(written: &str, error: SandboxError) -> SandboxError {
    SandboxError::new(error.kind(), format!("entries.{written:?}: {error}")).with_source(error)
}
