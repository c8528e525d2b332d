//! One writer per session: a lock that the operating system holds, and drops when the process dies.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use robota_core::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Error, LockOwner, files};

/// How often, and how many times, a lock of another process is tried again. A process that is killed
/// while it starts a child leaves its open files to the child until that has started: the lock is
/// then held by nobody for a moment.
const RETRY_EVERY: Duration = Duration::from_millis(10);
const RETRIES: u32 = 40;
/// The same for a lock of this process: a session that was just dropped gives its lock back when its log is
/// written.
const OWN_RETRIES: u32 = 10;

/// Held while a session is open for writing.
///
/// The file says who holds it. It is removed when the lock is given back, so that listings stay
/// short; a file that was left behind by a dead process locks nothing.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: File,
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Content {
    pid: u32,
    since: Timestamp,
}

impl SessionLock {
    /// Locks the session `id` with the file `path`.
    pub(crate) fn acquire(path: &Path, id: &SessionId, since: Timestamp) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::storage(format!("cannot lock {}", path.display()), error);
        let mut retries = 0;
        loop {
            let mut file = files::open_in_place(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let owner = owner(&mut file);
                    let own = owner.pid == Some(std::process::id());
                    if retries == if own { OWN_RETRIES } else { RETRIES } {
                        return Err(Error::locked(id, owner));
                    }
                    retries += 1;
                    std::thread::sleep(RETRY_EVERY);
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Another process may have removed the file between opening and locking it.
            if is_at(&file, path).map_err(failed)? {
                let lock = Self { file, path: path.to_owned() };
                lock.write(&Content { pid: std::process::id(), since }).map_err(failed)?;
                return Ok(lock);
            }
        }
    }

    /// Who has the lock in the file `path`; `None` when nobody does.
    pub(crate) fn holder(path: &Path) -> io::Result<Option<LockOwner>> {
        let mut file = match files::open_read(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(owner(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn write(&self, content: &Content) -> io::Result<()> {
        let mut line = serde_json::to_vec(content)?;
        line.push(b'\n');
        self.file.set_len(0)?;
        (&self.file).write_all(&line)
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Only while the lock is held: whoever waits for it must find either this file or a new one.
        if cfg!(unix) {
            let _ = files::remove(&self.path);
        }
    }
}

fn owner(file: &mut File) -> LockOwner {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(1024).read_to_string(&mut text));
    let content = read.ok().and_then(|_| serde_json::from_str::<Content>(&text).ok());
    LockOwner {
        pid: content.as_ref().map(|content| content.pid),
        since: content.as_ref().map(|content| content.since),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    let there = files::found(path)?;
    Ok(there.is_some_and(|there| (held.dev(), held.ino()) == (there.dev(), there.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_opener_learns_who_holds_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let id: SessionId = "a".parse().unwrap();
        let since = Timestamp::from_millis(1_795_301_280_000);
        let lock = SessionLock::acquire(&path, &id, since).unwrap();
        let error = SessionLock::acquire(&path, &id, since).unwrap_err();
        let pid = std::process::id();
        assert_eq!(error.lock_owner(), Some(&LockOwner { pid: Some(pid), since: Some(since) }));
        let told = format!("session a is open in process {pid} (since 2026-11-21T22:48:00.000Z)");
        assert_eq!(error.to_string(), told);
        drop(lock);
        assert!(!path.exists() || cfg!(not(unix)));
        SessionLock::acquire(&path, &id, since).unwrap();
    }

    #[test]
    fn a_file_left_behind_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        files::replace(&path, b"{\"pid\":1,\"since\":0, and much more text than a lock has").unwrap();
        let lock = SessionLock::acquire(&path, &"a".parse().unwrap(), Timestamp::default()).unwrap();
        let content: Content = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(content.pid, std::process::id());
        drop(lock);
    }
}
