//! A machine of the provider E2B, over its HTTP API.
//!
//! Nothing of the provider is installed. What is spoken is what its repositories document: the control API of
//! `spec/openapi.yml` (`POST /sandboxes`, `…/connect`, `…/pause`, `…/snapshots`, `…/timeout`, `DELETE …`, with the
//! header `X-API-Key`), and of the daemon in each machine, envd on port 49983, the files of `spec/envd/envd.yaml` and
//! the Connect services of `spec/envd/filesystem/filesystem.proto` and `spec/envd/process/process.proto` as JSON.

mod answer;
mod control;
mod envd;
mod envelope;
mod files;
mod process;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::error::{SandboxError, SandboxErrorKind};
use super::place;
use super::port::{
    OutputListener, Sandbox, SandboxEntry, SandboxFuture, SandboxRunOptions, SandboxRunResult, SandboxStat,
    Snapshots,
};
use control::Control;
use envd::Envd;

/// What is needed to make or reach a machine of E2B.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct E2bOptions {
    /// The key of the account.
    pub api_key: SecretString,
    /// The provider's domain; `e2b.app` by default. The control API is at `https://api.DOMAIN`.
    pub domain: String,
    /// The control API, when it is elsewhere.
    pub api_url: Option<String>,
    /// Where the machines are reached, when not at `https://49983-ID.DOMAIN`.
    pub sandbox_url: Option<String>,
    /// What machines are made from; `base` by default.
    pub template: String,
    /// How long a machine lives when it is not asked for longer; 300 s by default.
    pub lifetime: Duration,
    /// The user that commands run as and files belong to; `user` by default.
    pub user: String,
    /// The folder that work happens in, absolute; `/workspace` by default. It is made when it is not there.
    pub root: PathBuf,
    /// Variables of the machine.
    pub environment: BTreeMap<String, String>,
    /// Whether the machine may reach the internet; `true` by default.
    pub internet_access: bool,
    /// How long a request other than a command may take; 60 s by default.
    pub request_timeout: Duration,
    /// A proxy for all requests, as a URL; none by default, whatever the environment says.
    pub proxy: Option<String>,
}

impl E2bOptions {
    /// Options with the defaults of the provider.
    #[must_use]
    pub fn new(api_key: SecretString) -> Self {
        Self {
            api_key,
            domain: "e2b.app".to_owned(),
            api_url: None,
            sandbox_url: None,
            template: "base".to_owned(),
            lifetime: Duration::from_secs(300),
            user: "user".to_owned(),
            root: PathBuf::from("/workspace"),
            environment: BTreeMap::new(),
            internet_access: true,
            request_timeout: Duration::from_secs(60),
            proxy: None,
        }
    }
}

/// A machine of E2B.
///
/// It lives on when this is dropped, until its lifetime is over or [`E2bSandbox::kill`]. Symlinks inside of it are
/// followed by its own system; what a file tool reaches is the machine's, never this one's.
///
/// A snapshot is one that new machines can be made from, and where the provider has no such, the paused machine
/// itself; a restore makes a machine from it or wakes it, and ends the one that was used before.
#[derive(Clone)]
pub struct E2bSandbox {
    control: Arc<Control>,
    /// The machine in use.
    envd: Arc<RwLock<Arc<Envd>>>,
    /// The ids of machines that are snapshots themselves.
    asleep: Arc<Mutex<BTreeSet<String>>>,
}

impl E2bSandbox {
    /// Makes a machine.
    ///
    /// # Errors
    ///
    /// When an option cannot be used, the key is not accepted, or the provider cannot be reached or does not make it.
    pub async fn create(options: E2bOptions) -> Result<Self, SandboxError> {
        let control = Arc::new(Control::new(options)?);
        let envd = control.create(&control.options.template).await?;
        let id = envd.id.clone();
        let made = Self::with(Arc::clone(&control), envd).await;
        // Nobody else knows of it, and it costs money as long as it lives.
        if made.is_err()
            && let Err(error) = control.kill(&id).await
        {
            tracing::warn!(%error, id, "a machine that could not be set up lives on until its time is over");
        }
        made
    }

    /// Takes a machine that runs or is paused.
    ///
    /// # Errors
    ///
    /// As [`E2bSandbox::create`], and when there is no such machine.
    pub async fn connect(options: E2bOptions, sandbox_id: &str) -> Result<Self, SandboxError> {
        let control = Arc::new(Control::new(options)?);
        let envd = control.connect(sandbox_id).await?;
        Self::with(control, envd).await
    }

    /// The machine of a snapshot that an earlier session has taken.
    ///
    /// # Errors
    ///
    /// As [`E2bSandbox::create`], and when there is no such snapshot.
    pub async fn restored(options: E2bOptions, snapshot_id: &str) -> Result<Self, SandboxError> {
        let control = Arc::new(Control::new(options)?);
        let envd = control.restore(snapshot_id).await?;
        Self::with(control, envd).await
    }

    async fn with(control: Arc<Control>, envd: Envd) -> Result<Self, SandboxError> {
        let root = control.options.root.clone();
        if !root.is_absolute() || place::inside(&root, &root).ok().as_deref() != Some(&*root) {
            let message = format!("the root {} is not an absolute path", root.display());
            return Err(SandboxError::new(SandboxErrorKind::InvalidPath, message));
        }
        envd.make_folder(&root).await?;
        let envd = Arc::new(RwLock::new(Arc::new(envd)));
        Ok(Self { control, envd, asleep: Arc::default() })
    }

    /// The provider's id of the machine.
    #[must_use]
    pub fn id(&self) -> String {
        self.envd().id.clone()
    }

    /// Has the machine live for `lifetime` from now on.
    ///
    /// # Errors
    ///
    /// When the provider cannot be reached or the machine is gone.
    pub async fn extend(&self, lifetime: Duration) -> Result<(), SandboxError> {
        self.control.extend(&self.envd().id, lifetime).await
    }

    /// Ends the machine; one that is gone is fine.
    ///
    /// # Errors
    ///
    /// When the provider cannot be reached or refuses.
    pub async fn kill(&self) -> Result<(), SandboxError> {
        self.control.kill(&self.envd().id).await
    }

    fn envd(&self) -> Arc<Envd> {
        Arc::clone(&self.envd.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn inside(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        place::inside(self.root(), path)
    }

    async fn restore_to(&self, id: &str, cancel: &CancellationToken) -> Result<(), SandboxError> {
        let restored = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SandboxError::cancelled()),
            restored = self.control.restore(id) => restored?,
        };
        restored.make_folder(self.root()).await?;
        let (restored, before) = (Arc::new(restored), self.envd());
        *self.envd.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&restored);
        if before.id == restored.id {
            return Ok(());
        }
        // Ending a machine that is a snapshot would end the snapshot.
        let is_snapshot = self.asleep.lock().unwrap_or_else(PoisonError::into_inner).contains(&before.id);
        let put_away = if is_snapshot {
            self.control.pause(&before.id).await
        } else {
            self.control.kill(&before.id).await
        };
        if let Err(error) = put_away {
            tracing::warn!(%error, id = %before.id, "a machine that was replaced lives on until its time is over");
        }
        Ok(())
    }
}

impl fmt::Debug for E2bSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("E2bSandbox").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Sandbox for E2bSandbox {
    fn root(&self) -> &Path {
        &self.control.options.root
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, SandboxRunResult> {
        async move {
            let written = options.working_directory.as_deref().unwrap_or(self.root());
            let folder = self.inside(written)?;
            self.envd().run_in_shell(command, (&folder, self.root()), &options, listener, cancel).await
        }
        .boxed()
    }

    fn read_file<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<u8>> {
        async move { self.envd().read(&self.inside(path)?).await }.boxed()
    }

    fn write_file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, SandboxStat> {
        async move { self.envd().write(&self.inside(path)?, self.root(), content).await }.boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, SandboxStat> {
        async move { self.envd().stat(&self.inside(path)?, self.root()).await }.boxed()
    }

    fn list<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<SandboxEntry>> {
        async move { self.envd().list(&self.inside(path)?).await }.boxed()
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, PathBuf> {
        async move { self.envd().real_path(&self.inside(path)?, self.root()).await }.boxed()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

impl Snapshots for E2bSandbox {
    fn snapshot<'a>(&'a self, cancel: &'a CancellationToken) -> SandboxFuture<'a, String> {
        async move {
            let envd = self.envd();
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(SandboxError::cancelled()),
                id = self.control.snapshot(&envd.id) => {
                    let id = id?;
                    if id == envd.id {
                        self.asleep.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
                    }
                    Ok(id)
                }
            }
        }
        .boxed()
    }

    fn restore<'a>(&'a self, id: &'a str, cancel: &'a CancellationToken) -> SandboxFuture<'a, ()> {
        self.restore_to(id, cancel).boxed()
    }
}
