//! A folder of this machine as a sandbox.

mod hands;
mod run;
mod snapshots;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::error::{SandboxError, SandboxErrorKind};
use super::manifest::{ManifestApplier, ManifestReport, WorkspaceManifest, apply, plan};
use super::place;
use super::port::{
    OutputListener, Sandbox, SandboxEntry, SandboxFileKind, SandboxFuture, SandboxRunOptions,
    SandboxRunResult, SandboxStat, Snapshots,
};
use crate::files::{Content, Kind, Stat};
use crate::process::{Confine, find_shell, without_interaction};
use crate::workspace::Workspace;
use hands::HostHands;

/// Bytes of a file that are held in memory.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// Names of a folder that are held in memory.
const MAX_NAMES: usize = 1_000_000;

/// A folder of this machine; commands run as this process does, or confined.
///
/// Files are reached by handle: symlinks inside the folder are followed, those that lead out of it are refused, also
/// when they are put there between the check and the use. Commands are bound only by their confinement: without one
/// they reach what the user of this process reaches.
#[derive(Clone)]
pub struct HostSandbox {
    shared: Arc<Shared>,
}

struct Shared {
    /// Its one root is the folder.
    workspace: Workspace,
    environment: Vec<(OsString, OsString)>,
    shell: PathBuf,
    confinement: Option<Arc<dyn Confine>>,
    snapshots: Option<PathBuf>,
    /// Held while contents are replaced or kept as a whole.
    whole: Mutex<()>,
    /// Held while a manifest is applied.
    applying: tokio::sync::Mutex<()>,
}

impl HostSandbox {
    /// The folder `root`, which is absolute; commands see `environment` and nothing else of this process.
    ///
    /// # Errors
    ///
    /// When `root` is no folder.
    pub fn new(root: &Path, environment: &[(OsString, OsString)]) -> Result<Self, SandboxError> {
        let workspace = Workspace::new(root, [], None);
        if !workspace.is_folder(workspace.root()) {
            let error = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(SandboxError::io("use as a sandbox", root, error));
        }
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let shared = Shared {
            shell: find_shell(path),
            environment: without_interaction(environment),
            workspace,
            confinement: None,
            snapshots: None,
            whole: Mutex::new(()),
            applying: tokio::sync::Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The same with commands confined.
    #[must_use]
    pub fn with_confinement(self, confinement: Arc<dyn Confine>) -> Self {
        self.adjusted(|shared| shared.confinement = Some(confinement))
    }

    /// The same with snapshots kept in `folder`, which is absolute and lies outside of the sandbox; it is made when
    /// it is not there.
    ///
    /// # Errors
    ///
    /// When it lies in the sandbox, or the sandbox in it.
    pub fn with_snapshots(self, folder: &Path) -> Result<Self, SandboxError> {
        let folder = self.shared.workspace.resolve_path(folder);
        let root = self.root();
        if folder.starts_with(root) || root.starts_with(&folder) {
            let message = format!("snapshots of {} cannot be kept in {}", root.display(), folder.display());
            return Err(SandboxError::new(SandboxErrorKind::InvalidPath, message)
                .with_hint("keep them in a folder beside the sandbox"));
        }
        Ok(self.adjusted(|shared| shared.snapshots = Some(folder)))
    }

    fn adjusted(self, adjust: impl FnOnce(&mut Shared)) -> Self {
        let shared = &self.shared;
        let mut shared = Shared {
            workspace: shared.workspace.clone(),
            environment: shared.environment.clone(),
            shell: shared.shell.clone(),
            confinement: shared.confinement.clone(),
            snapshots: shared.snapshots.clone(),
            whole: Mutex::new(()),
            applying: tokio::sync::Mutex::default(),
        };
        adjust(&mut shared);
        Self { shared: Arc::new(shared) }
    }

    /// Does `work` on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, SandboxError> + Send + 'static,
    ) -> Result<T, SandboxError> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || work(&shared)).await.unwrap_or_else(|error| {
            let message = "an operation of the sandbox failed inside; nothing is known of its effect";
            Err(SandboxError::new(SandboxErrorKind::Failed, message).with_source(error))
        })
    }
}

impl Shared {
    /// `path` with its symlinks followed, when that lies in the folder.
    fn resolve(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let root = self.workspace.root();
        let resolved = self.workspace.resolve_path(&place::inside(root, path)?);
        if resolved.starts_with(root) {
            return Ok(resolved);
        }
        let message = format!("a symlink leads from {} out of {}", path.display(), root.display());
        Err(SandboxError::new(SandboxErrorKind::NotPermitted, message))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError> {
        let path = self.resolve(path)?;
        let failed = |error| SandboxError::io("read", &path, error);
        // Looked at before it is opened: opening a device may do something.
        regular(&path, &self.workspace.look(&path).map_err(failed)?)?;
        let (content, stat) = self.workspace.open(&path).map_err(failed)?;
        regular(&path, &stat)?;
        // A file may say that it is larger than any memory, and have no content at all.
        if stat.size > MAX_FILE {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default());
        Content::take(content, MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        Ok(bytes)
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<SandboxStat, SandboxError> {
        let path = self.resolve(path)?;
        let failed = |error| SandboxError::io("write", &path, error);
        match self.workspace.look(&path) {
            Ok(found) => regular(&path, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let was = self.workspace.look(&path).ok();
        Ok(told(&self.workspace.replace(&path, content, was.as_ref()).map_err(failed)?))
    }

    fn list(&self, path: &Path) -> Result<Vec<SandboxEntry>, SandboxError> {
        let path = self.resolve(path)?;
        let failed = |error| SandboxError::io("list", &path, error);
        let names = self.workspace.entries(&path, MAX_NAMES + 1).map_err(failed)?;
        if names.len() > MAX_NAMES {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let kind = |name: &OsString| match fs::symlink_metadata(path.join(name)) {
            Ok(found) => found.file_type().into(),
            Err(_) => Kind::Device,
        };
        Ok(names
            .into_iter()
            .map(|(name, known)| SandboxEntry { kind: kind_told(known.unwrap_or_else(|| kind(&name))), name })
            .collect())
    }
}

impl fmt::Debug for HostSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets of the user.
        f.debug_struct("HostSandbox")
            .field("root", &self.shared.workspace.root())
            .field("confinement", &self.shared.confinement)
            .finish_non_exhaustive()
    }
}

impl Sandbox for HostSandbox {
    fn root(&self) -> &Path {
        self.shared.workspace.root()
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, SandboxRunResult> {
        self.run_in_shell(command, options, listener, cancel).boxed()
    }

    fn read_file<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<u8>> {
        let path = path.to_owned();
        self.blocking(move |shared| shared.read(&path)).boxed()
    }

    fn write_file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, SandboxStat> {
        let path = path.to_owned();
        self.blocking(move |shared| shared.write(&path, &content)).boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, SandboxStat> {
        let path = path.to_owned();
        self.blocking(move |shared| {
            let path = shared.resolve(&path)?;
            let found = shared.workspace.look(&path);
            found.map(|found| told(&found)).map_err(|error| SandboxError::io("look at", &path, error))
        })
        .boxed()
    }

    fn list<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<SandboxEntry>> {
        let path = path.to_owned();
        self.blocking(move |shared| shared.list(&path)).boxed()
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, PathBuf> {
        let path = path.to_owned();
        self.blocking(move |shared| shared.resolve(&path)).boxed()
    }

    fn manifests(&self) -> Option<&dyn ManifestApplier> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.shared.snapshots.as_ref().map(|_| self as &dyn Snapshots)
    }
}

impl ManifestApplier for HostSandbox {
    fn apply<'a>(
        &'a self,
        manifest: &'a WorkspaceManifest,
        host_root: &'a Path,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, ManifestReport> {
        async move {
            let plan = plan(manifest, host_root).await?;
            // Where one fails, what it undoes is not to be what another has made.
            let _alone = self.shared.applying.lock().await;
            apply(&HostHands { sandbox: self, host_root, cancel }, plan, cancel).await
        }
        .boxed()
    }
}

fn regular(path: &Path, stat: &Stat) -> Result<(), SandboxError> {
    if stat.kind == Kind::File {
        return Ok(());
    }
    let message = format!("{} is not a regular file", path.display());
    Err(SandboxError::new(SandboxErrorKind::WrongKind, message))
}

fn told(stat: &Stat) -> SandboxStat {
    let (seconds, nanoseconds) = stat.modified;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    let part = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
    SandboxStat::new(kind_told(stat.kind), stat.size, base.and_then(|base| base.checked_add(part)))
}

fn kind_told(kind: Kind) -> SandboxFileKind {
    match kind {
        Kind::File => SandboxFileKind::File,
        Kind::Folder => SandboxFileKind::Folder,
        Kind::Symlink => SandboxFileKind::Symlink,
        Kind::Pipe | Kind::Socket | Kind::Device => SandboxFileKind::Other,
    }
}
