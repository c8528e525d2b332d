//! What a fresh workspace is to contain (seed 001; `IWorkspaceManifest`).
//!
//! A manifest is checked and everything it takes from this machine is read before the first change; then it is
//! applied as a whole. Where a step fails, what the steps before it made is taken away again.

mod apply;
mod git;
mod governed;
mod layout;
mod over_port;
mod plan;
mod shape;
mod source;

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub(super) use apply::{Hands, apply, plan};
pub(super) use git::GitClone;
pub(super) use over_port::CLONE_TIMEOUT;
use over_port::OverPort;
pub(super) use plan::{Plan, Step};
pub use shape::{FileEncoding, ManifestEntry, ManifestPermissions, WorkspaceManifest};

use super::error::SandboxError;
use super::port::{Sandbox, SandboxFuture};
use governed::Governed;

/// A manifest that has been applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppliedManifest {
    /// What became of each entry.
    pub report: ManifestReport,
    /// The sandbox with the manifest's environment and permissions; use this one from now on.
    pub sandbox: Arc<dyn Sandbox>,
}

/// What became of the entries of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ManifestReport {
    /// In the order of their paths.
    pub entries: Vec<EntryReport>,
    /// What a person should know of the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EntryReport {
    /// Its path, relative to the root.
    pub path: String,
    /// Its `type` in the manifest.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether it is there.
    pub status: EntryStatus,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether an entry has been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EntryStatus {
    /// It is there.
    Applied,
    /// This sandbox cannot do it; nothing was made for it.
    Unsupported,
}

/// A sandbox's own way of applying manifests.
pub trait ManifestApplier: Send + Sync {
    /// Makes what `manifest` says, all of it or nothing; relative sources lie in `host_root` on this machine.
    ///
    /// # Errors
    ///
    /// As [`apply_workspace_manifest`].
    fn apply<'a>(
        &'a self,
        manifest: &'a WorkspaceManifest,
        host_root: &'a Path,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, ManifestReport>;
}

/// Makes `sandbox` what `manifest` says, all of it or nothing.
///
/// Sources of `localFile` and `localDir` lie in `host_root`, an absolute folder of this machine: relative to it or
/// absolute inside of it, reached through no symlink. Nothing that is there already is overwritten: only a `dir` may
/// exist before. Symlinks in a copied folder are copied as such when they stay inside of it. Of modes the
/// executable bit is kept. At most 256 MiB and 100,000 files are copied from this machine.
///
/// The environment and the permissions of the manifest hold for [`AppliedManifest::sandbox`].
///
/// # Errors
///
/// When the manifest cannot be applied as written, a source is not there or may not be read, a target exists, or a
/// step fails. The sandbox is then as before; where even that could not be brought about, the error says what is
/// left.
pub async fn apply_workspace_manifest(
    sandbox: &Arc<dyn Sandbox>,
    manifest: &WorkspaceManifest,
    host_root: &Path,
    cancel: &CancellationToken,
) -> Result<AppliedManifest, SandboxError> {
    let governed = govern(sandbox, manifest)?;
    let mut report = match sandbox.manifests() {
        Some(own) => own.apply(manifest, host_root, cancel).await?,
        None => {
            let hands = OverPort { sandbox: sandbox.as_ref(), cancel };
            apply(&hands, plan(manifest, host_root).await?, cancel).await?
        }
    };
    if manifest.permissions.is_some() {
        let note =
            "permissions bound what the file tools reach; commands reach what the sandbox itself lets them";
        report.notes.push(note.to_owned());
    }
    Ok(AppliedManifest { report, sandbox: governed })
}

/// `sandbox` with the environment and the permissions of `manifest`, whose entries are there already, as they are
/// after a snapshot has been restored.
///
/// # Errors
///
/// When a path of the permissions or a name of the environment is none.
pub fn govern(
    sandbox: &Arc<dyn Sandbox>,
    manifest: &WorkspaceManifest,
) -> Result<Arc<dyn Sandbox>, SandboxError> {
    if manifest.permissions.is_none() && manifest.environment.is_empty() {
        return Ok(Arc::clone(sandbox));
    }
    Ok(Arc::new(Governed::new(Arc::clone(sandbox), manifest)?))
}
