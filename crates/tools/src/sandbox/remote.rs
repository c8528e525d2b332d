//! The files of a sandbox as the file tools reach them, which block.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use super::error::{SandboxError, SandboxErrorKind};
use super::port::{Sandbox, SandboxFileKind, SandboxFuture, SandboxStat};
use crate::builtin::PathFilter;
use crate::files::{Kind, Remote, Stat};

/// How long one operation may take.
const DEADLINE: Duration = Duration::from_secs(120);
/// Names of a folder that are taken.
const MAX_NAMES: usize = 1_000_000;

/// Does each operation on the runtime and waits for it on the thread that asks, which may be any.
pub(super) struct SandboxFiles {
    sandbox: Arc<dyn Sandbox>,
    /// What is not read by another name either.
    unreadable: Option<PathFilter>,
    /// Threads of a search do not know the runtime.
    runtime: OnceLock<Handle>,
}

impl SandboxFiles {
    pub(super) fn new(sandbox: Arc<dyn Sandbox>, unreadable: Option<PathFilter>) -> Self {
        let files = Self { sandbox, unreadable, runtime: OnceLock::new() };
        files.note_runtime();
        files
    }

    /// Remembers the runtime of this thread.
    pub(super) fn note_runtime(&self) {
        if let Ok(runtime) = Handle::try_current() {
            self.runtime.get_or_init(|| runtime);
        }
    }

    fn wait<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a dyn Sandbox) -> SandboxFuture<'a, T> + Send + 'static,
    ) -> io::Result<T> {
        self.note_runtime();
        let runtime = self.runtime.get().ok_or_else(|| io::Error::other("there is no tokio runtime"))?;
        let (tell, told) = mpsc::sync_channel(1);
        let sandbox = Arc::clone(&self.sandbox);
        let task = runtime.spawn(async move {
            // Nobody listens when the deadline has passed.
            let _told_or_late = tell.send(work(sandbox.as_ref()).await);
        });
        match told.recv_timeout(DEADLINE) {
            Ok(done) => done.map_err(SandboxError::into_io),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                task.abort();
                Err(io::Error::new(io::ErrorKind::TimedOut, "the sandbox did not answer within 120 s"))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("the operation failed inside; nothing is known of its effect"))
            }
        }
    }
}

impl fmt::Debug for SandboxFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxFiles").field(&self.sandbox).finish()
    }
}

impl Remote for SandboxFiles {
    fn look(&self, path: &Path) -> io::Result<Stat> {
        let path = path.to_owned();
        self.wait(move |sandbox| Box::pin(async move { sandbox.stat(&path).await })).map(known)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (path, unreadable) = (path.to_owned(), self.unreadable.clone());
        self.wait(move |sandbox| {
            Box::pin(async move {
                let Some(unreadable) = unreadable else { return sandbox.read_file(&path).await };
                // Calls are judged by names: what a symlink leads to is looked at here.
                let real = sandbox.real_path(&path).await?;
                if unreadable(&real) {
                    return Err(denied(&path, &real));
                }
                sandbox.read_file(&real).await
            })
        })
    }

    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<Stat> {
        let (path, content) = (path.to_owned(), content.to_vec());
        self.wait(move |sandbox| Box::pin(async move { sandbox.write_file(&path, content).await })).map(known)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, Kind)>> {
        let folder = folder.to_owned();
        let listed = self.wait(move |sandbox| Box::pin(async move { sandbox.list(&folder).await }))?;
        if listed.len() > MAX_NAMES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the folder has more than 1,000,000 names",
            ));
        }
        Ok(listed.into_iter().map(|entry| (entry.name, kind_of(entry.kind))).collect())
    }
}

fn denied(path: &Path, real: &Path) -> SandboxError {
    let (path, real) = (path.display(), real.display());
    let message = format!("{path} leads to {real}, and permission rules deny reading that");
    SandboxError::new(SandboxErrorKind::NotPermitted, message)
}

fn known(stat: SandboxStat) -> Stat {
    let since = stat.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let modified = (seconds, i64::from(since.subsec_nanos()));
    Stat { kind: kind_of(stat.kind), size: stat.size, modified, identity: (0, 0) }
}

fn kind_of(kind: SandboxFileKind) -> Kind {
    match kind {
        SandboxFileKind::File => Kind::File,
        SandboxFileKind::Folder => Kind::Folder,
        SandboxFileKind::Symlink => Kind::Symlink,
        SandboxFileKind::Other => Kind::Device,
    }
}
