//! The sandboxes that the suite is run over.

use std::any::Any;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_tools::sandbox::{
    HostSandbox, MemorySandbox, OutputListener, Sandbox, SandboxError, SandboxErrorKind, SandboxRunOptions,
    SandboxRunResult, WorkspaceManifest,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::standin::Standin;

/// A fresh sandbox, and a folder of this machine that manifests copy from.
pub(crate) struct Place {
    pub(crate) sandbox: Arc<dyn Sandbox>,
    /// Commands are really run.
    pub(crate) runs: bool,
    /// Names may be any bytes.
    pub(crate) any_names: bool,
    pub(crate) cancel: CancellationToken,
    host: TempDir,
    _keep: Box<dyn Any + Send + Sync>,
}

impl Place {
    fn new(sandbox: Arc<dyn Sandbox>, keep: impl Any + Send + Sync) -> Self {
        Self {
            sandbox,
            runs: true,
            any_names: true,
            cancel: CancellationToken::new(),
            host: tempfile::tempdir().unwrap(),
            _keep: Box::new(keep),
        }
    }

    pub(crate) async fn host() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir(&root).unwrap();
        let sandbox = HostSandbox::new(&root, &environment()).unwrap();
        let sandbox = sandbox.with_snapshots(&folder.path().join("snapshots")).unwrap();
        Self::new(Arc::new(sandbox), folder)
    }

    pub(crate) async fn memory() -> Self {
        Self { runs: false, ..Self::new(Arc::new(MemorySandbox::new()), ()) }
    }

    pub(crate) async fn e2b() -> Self {
        let standin = Standin::start().await;
        let sandbox = standin.sandbox().await;
        Self { any_names: false, ..Self::new(Arc::new(sandbox), standin) }
    }

    /// Puts a file into the folder of this machine.
    pub(crate) fn put_on_host(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.host_root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn host_root(&self) -> PathBuf {
        self.host.path().canonicalize().unwrap()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.sandbox.root().join(path)
    }

    pub(crate) async fn write(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.sandbox.write_file(Path::new(path), content.into()).await.unwrap();
    }

    pub(crate) async fn read(&self, path: &str) -> Vec<u8> {
        self.sandbox.read_file(Path::new(path)).await.unwrap()
    }

    pub(crate) async fn read_error(&self, path: &str) -> SandboxErrorKind {
        self.sandbox.read_file(Path::new(path)).await.unwrap_err().kind()
    }

    pub(crate) async fn exists(&self, path: &str) -> bool {
        match self.sandbox.stat(Path::new(path)).await {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), SandboxErrorKind::NotFound, "{error}");
                false
            }
        }
    }

    /// The names in a folder, in order.
    pub(crate) async fn names(&self, path: &str) -> Vec<OsString> {
        let listed = self.sandbox.list(Path::new(path)).await.unwrap();
        let mut names: Vec<_> = listed.into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    }

    pub(crate) async fn run(&self, command: &str) -> SandboxRunResult {
        self.run_with(command, |_| {}, None).await.unwrap()
    }

    pub(crate) async fn run_with(
        &self,
        command: &str,
        adjust: impl FnOnce(&mut SandboxRunOptions),
        listener: Option<OutputListener>,
    ) -> Result<SandboxRunResult, SandboxError> {
        let mut options = SandboxRunOptions::default();
        adjust(&mut options);
        self.sandbox.run(command, options, listener, &self.cancel).await
    }

    pub(crate) fn manifest(written: &Value) -> WorkspaceManifest {
        serde_json::from_value(written.clone()).unwrap()
    }
}

pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
}
