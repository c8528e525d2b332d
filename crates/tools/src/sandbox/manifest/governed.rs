//! A sandbox in which the environment and the permissions of a manifest hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::place;
use super::super::port::{
    OutputListener, Sandbox, SandboxEntry, SandboxFuture, SandboxRunOptions, SandboxRunResult, SandboxStat,
    Snapshots,
};
use super::layout::relative;
use super::shape::WorkspaceManifest;

#[derive(Debug)]
pub(super) struct Governed {
    sandbox: Arc<dyn Sandbox>,
    environment: BTreeMap<String, String>,
    /// Absolute; `None` allows everything.
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
}

impl Governed {
    pub(super) fn new(sandbox: Arc<dyn Sandbox>, manifest: &WorkspaceManifest) -> Result<Self, SandboxError> {
        if let Some(name) = manifest.environment.keys().find(|name| !is_variable(name)) {
            let message = format!("environment.{name:?} is no name of a variable");
            return Err(SandboxError::new(SandboxErrorKind::InvalidManifest, message));
        }
        if let Some((name, _)) = manifest.environment.iter().find(|(_, value)| value.contains('\0')) {
            let message = format!("the value of environment.{name:?} contains a NUL character");
            return Err(SandboxError::new(SandboxErrorKind::InvalidManifest, message));
        }
        let permissions = manifest.permissions.as_ref();
        let root = sandbox.root();
        let read = permissions.and_then(|lists| lists.read.as_deref()).map(|list| absolute(root, list));
        let write = permissions.and_then(|lists| lists.write.as_deref()).map(|list| absolute(root, list));
        let (read, write) = (read.transpose()?, write.transpose()?);
        Ok(Self { environment: manifest.environment.clone(), read, write, sandbox })
    }

    /// `path` with its symlinks followed, which is what is allowed or not.
    async fn real(&self, list: Option<&[PathBuf]>, path: &Path) -> Result<PathBuf, SandboxError> {
        if list.is_some() { self.sandbox.real_path(path).await } else { place::inside(self.root(), path) }
    }

    async fn allowed(
        &self,
        action: &str,
        list: Option<&[PathBuf]>,
        path: &Path,
    ) -> Result<PathBuf, SandboxError> {
        let real = self.real(list, path).await?;
        if covers(list, &real) { Ok(real) } else { Err(not_permitted(action, path)) }
    }

    /// Folders on the way to what may be read may be seen, too.
    async fn visible(&self, action: &str, path: &Path) -> Result<PathBuf, SandboxError> {
        let real = self.real(self.read.as_deref(), path).await?;
        if self.is_visible(&real) { Ok(real) } else { Err(not_permitted(action, path)) }
    }

    fn is_visible(&self, real: &Path) -> bool {
        let leads_on = |list: &Vec<PathBuf>| list.iter().any(|allowed| allowed.starts_with(real));
        covers(self.read.as_deref(), real) || self.read.as_ref().is_some_and(leads_on)
    }
}

impl Sandbox for Governed {
    fn root(&self) -> &Path {
        self.sandbox.root()
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        mut options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, SandboxRunResult> {
        // What the tools may not read is of no use to them.
        options.whole_output = options.whole_output.filter(|path| covers(self.read.as_deref(), path));
        // What a call asks for comes over what the manifest says of all.
        for (name, value) in &self.environment {
            options.environment.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self.sandbox.run(command, options, listener, cancel)
    }

    fn read_file<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<u8>> {
        async move {
            let path = self.allowed("read", self.read.as_deref(), path).await?;
            self.sandbox.read_file(&path).await
        }
        .boxed()
    }

    fn write_file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, SandboxStat> {
        async move {
            let path = self.allowed("write", self.write.as_deref(), path).await?;
            self.sandbox.write_file(&path, content).await
        }
        .boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, SandboxStat> {
        async move {
            // What may be written may be looked at.
            let path = match self.visible("look at", path).await {
                Err(error) if error.kind() == SandboxErrorKind::NotPermitted && self.write.is_some() => {
                    self.allowed("look at", self.write.as_deref(), path).await?
                }
                path => path?,
            };
            self.sandbox.stat(&path).await
        }
        .boxed()
    }

    fn list<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<SandboxEntry>> {
        async move {
            let path = self.visible("list", path).await?;
            let mut entries = self.sandbox.list(&path).await?;
            entries.retain(|entry| self.is_visible(&path.join(&entry.name)));
            Ok(entries)
        }
        .boxed()
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, PathBuf> {
        self.sandbox.real_path(path)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.sandbox.snapshots()
    }
}

fn absolute(root: &Path, list: &[String]) -> Result<Vec<PathBuf>, SandboxError> {
    let of_one = |written: &String| {
        if written == "." {
            return Ok(root.to_owned());
        }
        Ok(root.join(relative(written)?.iter().collect::<PathBuf>()))
    };
    list.iter().map(of_one).collect()
}

fn covers(list: Option<&[PathBuf]>, path: &Path) -> bool {
    list.is_none_or(|list| list.iter().any(|allowed| path.starts_with(allowed)))
}

fn not_permitted(action: &str, path: &Path) -> SandboxError {
    let message = format!("cannot {action} {}: the workspace's manifest does not permit it", path.display());
    SandboxError::new(SandboxErrorKind::NotPermitted, message)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
