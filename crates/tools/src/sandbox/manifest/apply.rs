//! Applying a plan, all of it or nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::port::SandboxFuture;
use super::{GitClone, ManifestReport, Plan, Step, WorkspaceManifest};

/// What a sandbox does for a manifest. Paths are relative to its root; parents are made where they are missing.
pub(in crate::sandbox) trait Hands: Send + Sync {
    /// Whether something is at `path`, a symlink that leads nowhere included.
    fn is_there<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, bool>;

    /// Makes folders; they may exist.
    fn folders<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()>;

    /// Makes a file where nothing is.
    fn file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, ()>;

    /// Makes files executable for those who may read them.
    fn executables<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()>;

    /// Makes a symlink where nothing is.
    fn link<'a>(&'a self, path: &'a Path, target: &'a Path) -> SandboxFuture<'a, ()>;

    /// Clones a repository to where nothing is.
    fn clone_to<'a>(&'a self, path: &'a Path, clone: &'a GitClone) -> SandboxFuture<'a, ()>;

    /// Takes things away with all that is in them, even when the caller does not wait any more.
    fn remove<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()>;
}

/// The plan for `manifest`, made on a thread that may block.
pub(in crate::sandbox) async fn plan(
    manifest: &WorkspaceManifest,
    host_root: &Path,
) -> Result<Plan, SandboxError> {
    let (manifest, host_root) = (manifest.clone(), host_root.to_owned());
    let planned = tokio::task::spawn_blocking(move || Plan::new(&manifest, &host_root)).await;
    planned.unwrap_or_else(|error| {
        let message = "reading the sources of the manifest failed inside";
        Err(SandboxError::new(SandboxErrorKind::Failed, message).with_source(error))
    })
}

/// Makes what `plan` says.
///
/// # Errors
///
/// When a target exists or a step fails; what was made is then removed.
pub(in crate::sandbox) async fn apply(
    hands: &dyn Hands,
    plan: Plan,
    cancel: &CancellationToken,
) -> Result<ManifestReport, SandboxError> {
    let Plan { steps, fresh, report } = plan;
    for path in &fresh {
        go_on(cancel)?;
        if hands.is_there(path).await? {
            return Err(exists(path));
        }
    }
    let made = what_will_be_made(hands, steps.keys(), cancel).await?;
    match make(hands, steps, cancel).await {
        Ok(()) => Ok(report),
        Err(error) if made.is_empty() => Err(error),
        Err(error) => Err(match hands.remove(&made).await {
            Ok(()) => error.and_then("; what had been made was removed"),
            Err(left) => error.and_then(&format!("; what had been made could not be removed: {left}")),
        }),
    }
}

/// The topmost folder or file of each step that is not there yet: that is what an undoing removes.
async fn what_will_be_made(
    hands: &dyn Hands,
    paths: impl Iterator<Item = &PathBuf>,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, SandboxError> {
    let (mut there, mut made) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let mut place = PathBuf::new();
        for name in path {
            go_on(cancel)?;
            place.push(name);
            if made.contains(&place) {
                break;
            }
            if there.contains(&place) {
                continue;
            }
            if !hands.is_there(&place).await? {
                made.insert(place);
                break;
            }
            there.insert(place.clone());
        }
    }
    Ok(made.into_iter().collect())
}

async fn make(
    hands: &dyn Hands,
    steps: impl IntoIterator<Item = (PathBuf, Step)>,
    cancel: &CancellationToken,
) -> Result<(), SandboxError> {
    let (mut folders, mut files, mut links, mut clones) = (vec![], vec![], vec![], vec![]);
    for (path, step) in steps {
        match step {
            Step::Folder => folders.push(path),
            Step::File { content, executable } => files.push((path, content, executable)),
            Step::Link { target } => links.push((path, target)),
            Step::Clone(clone) => clones.push((path, clone)),
        }
    }
    // A clone wants an empty place; what the manifest puts into it comes after.
    for (path, clone) in &clones {
        go_on(cancel)?;
        hands.clone_to(path, clone).await?;
    }
    go_on(cancel)?;
    hands.folders(&folders).await?;
    let in_clone = |path: &Path| clones.iter().any(|(clone, _)| path.starts_with(clone));
    let mut executables = Vec::new();
    for (path, content, executable) in files {
        go_on(cancel)?;
        if in_clone(&path) && hands.is_there(&path).await? {
            return Err(exists(&path));
        }
        hands.file(&path, content).await?;
        if executable {
            executables.push(path);
        }
    }
    hands.executables(&executables).await?;
    for (path, target) in &links {
        go_on(cancel)?;
        hands.link(path, target).await?;
    }
    Ok(())
}

fn exists(path: &Path) -> SandboxError {
    let message = format!("{} is there already and is not overwritten", path.display());
    SandboxError::new(SandboxErrorKind::AlreadyExists, message).with_hint("remove it or leave the entry out")
}

fn go_on(cancel: &CancellationToken) -> Result<(), SandboxError> {
    if cancel.is_cancelled() { Err(SandboxError::cancelled()) } else { Ok(()) }
}
