//! What a manifest needs done in a folder of this machine, by handle.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use rustix::fs::{AtFlags, statat, symlinkat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::manifest::{CLONE_TIMEOUT, GitClone, Hands};
use super::super::port::{Sandbox, SandboxFuture};
use super::super::tree;
use super::run::not_run;
use super::{HostSandbox, Shared};
use crate::files::exact;
use crate::process::{self, CommandLine, Ending};
use crate::workspace::resolve_links;

pub(super) struct HostHands<'a> {
    pub(super) sandbox: &'a HostSandbox,
    pub(super) host_root: &'a Path,
    pub(super) cancel: &'a CancellationToken,
}

impl Shared {
    /// The folder that `path` lies in, and its name there.
    fn hold(&self, path: &Path, create: bool) -> io::Result<(OwnedFd, OsString)> {
        let path = self.workspace.root().join(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok((exact::hold_folder(folder, create)?, name.to_owned()))
    }

    fn is_there(&self, path: &Path) -> io::Result<bool> {
        let (folder, name) = match self.hold(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            held => held?,
        };
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn make_executable(&self, path: &Path) -> io::Result<()> {
        let path = self.workspace.root().join(path);
        let file: File = exact::open_file(&path)?;
        let mode = file.metadata()?.permissions().mode();
        file.set_permissions(Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
    }
}

impl HostHands<'_> {
    async fn each(
        &self,
        action: &'static str,
        paths: &[PathBuf],
        work: fn(&Shared, &Path) -> io::Result<()>,
    ) -> Result<(), SandboxError> {
        let paths = paths.to_vec();
        let all = move |shared: &Shared| {
            paths.iter().try_for_each(|path| {
                work(shared, path).map_err(|error| SandboxError::io(action, path, error))
            })
        };
        self.sandbox.blocking(all).await
    }

    /// A `file:` address may name what sources may name, and nothing else of this machine.
    fn check_address(&self, clone: &GitClone) -> Result<(), SandboxError> {
        let Some(written) = clone.local() else { return Ok(()) };
        let encoded = written.contains('%');
        let inside = resolve_links(Path::new(written)).starts_with(resolve_links(self.host_root));
        if inside && !encoded && written.starts_with('/') {
            return Ok(());
        }
        let message = format!("the repository {written} lies outside of {}", self.host_root.display());
        Err(SandboxError::new(SandboxErrorKind::NotPermitted, message))
    }

    /// The clone is made by this machine's git, as the one who wrote the manifest; the confinement is for commands
    /// of the model.
    async fn git(&self, path: &Path, clone: &GitClone) -> Result<(), SandboxError> {
        let root = self.sandbox.root();
        let shown = root.join(path);
        if shown.as_os_str().as_bytes() != shown.to_string_lossy().as_bytes() {
            let message = format!("{} is not UTF-8 and cannot be cloned to", shown.display());
            return Err(SandboxError::new(SandboxErrorKind::InvalidPath, message));
        }
        let mut environment = self.sandbox.shared.environment.clone();
        environment.extend(GitClone::environment().map(|(name, value)| (name.into(), value.into())));
        let command = CommandLine {
            program: "git".into(),
            arguments: clone.arguments(&shown.to_string_lossy()).into_iter().map(OsString::from).collect(),
            directory: root.to_owned(),
            environment,
            timeout: CLONE_TIMEOUT,
        };
        let finished = process::run(command, None, self.cancel, |_| {}).await.map_err(not_run)?;
        match finished.ending {
            Ending::Exited(0) => Ok(()),
            Ending::Cancelled => Err(SandboxError::cancelled()),
            ending => {
                let message = format!("git did not succeed ({ending:?}): {}", finished.output.trim());
                Err(SandboxError::new(SandboxErrorKind::Failed, message))
            }
        }
    }
}

impl Hands for HostHands<'_> {
    fn is_there<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, bool> {
        let path = path.to_owned();
        self.sandbox
            .blocking(move |shared| {
                shared.is_there(&path).map_err(|error| SandboxError::io("look at", &path, error))
            })
            .boxed()
    }

    fn folders<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        let make = |shared: &Shared, path: &Path| {
            exact::hold_folder(&shared.workspace.root().join(path), true).map(drop)
        };
        self.each("make the folder", paths, make).boxed()
    }

    fn file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, ()> {
        let path = path.to_owned();
        let write = move |shared: &Shared| {
            let placed = shared.workspace.root().join(&path);
            let written = shared.workspace.replace(&placed, &content, None);
            written.map(drop).map_err(|error| SandboxError::io("write", &path, error))
        };
        self.sandbox.blocking(write).boxed()
    }

    fn executables<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        self.each("make executable", paths, |shared, path| shared.make_executable(path)).boxed()
    }

    fn link<'a>(&'a self, path: &'a Path, target: &'a Path) -> SandboxFuture<'a, ()> {
        let (path, target) = (path.to_owned(), target.to_owned());
        let link = move |shared: &Shared| {
            let held = shared.hold(&path, true);
            let linked = held.and_then(|(folder, name)| Ok(symlinkat(&target, folder, name)?));
            linked.map_err(|error| SandboxError::io("make the symlink", &path, error))
        };
        self.sandbox.blocking(link).boxed()
    }

    fn clone_to<'a>(&'a self, path: &'a Path, clone: &'a GitClone) -> SandboxFuture<'a, ()> {
        async move {
            let done = async {
                self.check_address(clone)?;
                // No symlink stands on the way to a folder that is held.
                let folder = path.to_owned();
                let hold = move |shared: &Shared| {
                    shared.hold(&folder, true).map_err(|error| SandboxError::io("make", &folder, error))
                };
                let _held = self.sandbox.blocking(hold).await?;
                self.git(path, clone).await
            };
            done.await.map_err(|error| clone.failed(&error))
        }
        .boxed()
    }

    fn remove<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        let remove = |shared: &Shared, path: &Path| match shared.hold(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            held => held.and_then(|(folder, name)| tree::remove(folder, &name)),
        };
        self.each("remove", paths, remove).boxed()
    }
}
