//! Applying a manifest through the port alone: files are written by it, everything else is made by commands with
//! quoted arguments.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::port::{Sandbox, SandboxFuture, SandboxRunOptions};
use super::GitClone;
use super::apply::Hands;

/// How long a clone may take.
pub(in crate::sandbox) const CLONE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long making folders, modes and symlinks may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of paths in one command.
const BATCH: usize = 48 * 1024;

pub(super) struct OverPort<'a> {
    pub(super) sandbox: &'a dyn Sandbox,
    pub(super) cancel: &'a CancellationToken,
}

impl OverPort<'_> {
    /// Runs `command` with the paths behind it, as many at once as fit.
    async fn each(
        &self,
        command: &str,
        paths: &[PathBuf],
        cancel: &CancellationToken,
    ) -> Result<(), SandboxError> {
        let mut line = command.to_owned();
        for path in paths {
            line.push(' ');
            line.push_str(&self.quoted(path)?);
            if line.len() > BATCH {
                self.run(&line, STEP_TIMEOUT, false, cancel).await?;
                line.truncate(command.len());
            }
        }
        if line.len() == command.len() {
            return Ok(());
        }
        self.run(&line, STEP_TIMEOUT, false, cancel).await
    }

    async fn run(
        &self,
        command: &str,
        timeout: Duration,
        as_git: bool,
        cancel: &CancellationToken,
    ) -> Result<(), SandboxError> {
        let variables = GitClone::environment().filter(|_| as_git);
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = SandboxRunOptions {
            timeout,
            environment,
            merge_output: true,
            output_limit: 4_096,
            ..SandboxRunOptions::default()
        };
        let result = self.sandbox.run(command, options, None, cancel).await?;
        if result.exit_code() == Some(0) {
            return Ok(());
        }
        let what = command.split(' ').next().unwrap_or_default();
        let message = format!("{what} did not succeed ({:?}): {}", result.ending, result.stdout.trim());
        Err(SandboxError::new(SandboxErrorKind::Failed, message))
    }

    fn quoted(&self, path: &Path) -> Result<String, SandboxError> {
        quoted(&self.sandbox.root().join(path))
    }
}

impl Hands for OverPort<'_> {
    fn is_there<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, bool> {
        let is_missing = |error: &SandboxError| error.kind() == SandboxErrorKind::NotFound;
        async move {
            match self.sandbox.stat(path).await {
                Ok(_) => return Ok(true),
                Err(error) if !is_missing(&error) => return Err(error),
                Err(_) => {}
            }
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(false) };
            match self.sandbox.list(folder).await {
                Ok(listed) => Ok(listed.iter().any(|entry| entry.name == name)),
                Err(error) if is_missing(&error) => Ok(false),
                Err(error) => Err(error),
            }
        }
        .boxed()
    }

    fn folders<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        self.each("mkdir -p --", paths, self.cancel).boxed()
    }

    fn file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, ()> {
        async move { self.sandbox.write_file(path, content).await.map(drop) }.boxed()
    }

    fn executables<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        self.each("chmod +x --", paths, self.cancel).boxed()
    }

    fn link<'a>(&'a self, path: &'a Path, target: &'a Path) -> SandboxFuture<'a, ()> {
        async move {
            let folder = self.quoted(path.parent().unwrap_or(Path::new("")))?;
            let (target, path) = (quoted(target)?, self.quoted(path)?);
            let command = format!("mkdir -p -- {folder} && ln -s -- {target} {path}");
            self.run(&command, STEP_TIMEOUT, false, self.cancel).await
        }
        .boxed()
    }

    fn clone_to<'a>(&'a self, path: &'a Path, clone: &'a GitClone) -> SandboxFuture<'a, ()> {
        async move {
            let target = self.sandbox.root().join(path);
            let mut command = "git".to_owned();
            for argument in clone.arguments(&target.to_string_lossy()) {
                command.push(' ');
                command.push_str(&quoted(Path::new(&argument))?);
            }
            let cloned = self.run(&command, CLONE_TIMEOUT, true, self.cancel).await;
            cloned.map_err(|error| clone.failed(&error))
        }
        .boxed()
    }

    fn remove<'a>(&'a self, paths: &'a [PathBuf]) -> SandboxFuture<'a, ()> {
        async move { self.each("rm -rf --", paths, &CancellationToken::new()).await }.boxed()
    }
}

/// `path` as one word of a shell.
fn quoted(path: &Path) -> Result<String, SandboxError> {
    let Ok(text) = std::str::from_utf8(path.as_os_str().as_bytes()) else {
        let message = format!("{} is not UTF-8 and cannot be named in a command", path.display());
        return Err(SandboxError::new(SandboxErrorKind::InvalidPath, message));
    };
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted(Path::new("a b'; rm -rf /; '$x`y`")).unwrap(), r"'a b'\''; rm -rf /; '\''$x`y`'");
    }
}
