//! Sessions as files in a folder of the project.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{Clock, SessionId, SystemClock, Timestamp};

use super::file_log::FileLog;
use super::growing_log::GrowingLog;
use super::listing::{self, log_path, record_path};
use super::load::{Loaded, load};
use super::lock::SessionLock;
use super::payloads::{PayloadFiles, PayloadWriter, payload_folder};
use super::remove::remove_all;
use super::vouch::vouches_for;
use super::whole_log::without_payloads;
use super::{Deleted, Listing, SessionHead, SessionStore, Snapshot, StoredSession};
use crate::log::Tail;
use crate::{Error, LogReader, LogSource, OpenLog, Payload, files, outputs};

/// Keeps sessions in a folder, usually `<project>/.robota` (design section 5):
///
/// - `logs/{id}.jsonl`, the log;
/// - `logs/{id}.payloads/{sha256}.json`, its fields larger than 32 KiB;
/// - `sessions/{id}.json`, the snapshot, an `ISessionRecord` of seed `000`;
/// - `sessions/{id}.lock`, held by the one writer;
/// - `outputs/{id}/{call}.txt`, whole outputs of tools that results show only in part.
///
/// Folders are made when the first session is, private to the user and hidden from git by a
/// `.gitignore` of their own.
///
/// The folder may come with a repository, from anyone. So no symbolic link is followed in it: where one
/// of the folders or files above is a link, or a file is a pipe or a device, that is an error and
/// nothing is read or written.
#[derive(Clone)]
pub struct FileStore {
    folders: Arc<Folders>,
}

struct Folders {
    base: PathBuf,
    sessions: PathBuf,
    logs: PathBuf,
    clock: Arc<dyn Clock>,
}

impl FileStore {
    /// The sessions in the folder `base`, which need not exist yet, though its parent must.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self::with_clock(base, Arc::new(SystemClock))
    }

    /// The same with another clock, which tells lock files since when they are held.
    #[must_use]
    pub fn with_clock(base: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let base = base.into();
        let (sessions, logs) = (sessions_folder(&base), logs_folder(&base));
        Self { folders: Arc::new(Folders { base, sessions, logs, clock }) }
    }

    /// The log of the session `id`.
    #[must_use]
    pub fn log_path(&self, id: &SessionId) -> PathBuf {
        log_path(&self.folders.logs, id)
    }

    /// The snapshot of the session `id`.
    #[must_use]
    pub fn record_path(&self, id: &SessionId) -> PathBuf {
        record_path(&self.folders.sessions, id)
    }

    /// The log of the session `id`, event by event, whoever has it open. Reads from the disk in the
    /// calling thread.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage) when there is no log, or it is no regular file.
    pub fn read_log(&self, id: &SessionId) -> Result<LogReader<File>, Error> {
        self.folders.check()?;
        let path = self.log_path(id);
        let log = files::open_read(&path).map_err(cannot("read", &path))?;
        Ok(LogReader::new(log).with_payloads(id.clone(), self.folders.payloads(id)))
    }

    /// The same for a log that is still being written: the reader ends where the log ends for now, and has
    /// what has come since when it is asked again. A line that is not whole yet comes when it is.
    ///
    /// # Errors
    ///
    /// As [`read_log`](FileStore::read_log).
    pub fn follow_log(&self, id: &SessionId) -> Result<LogReader<GrowingLog>, Error> {
        self.folders.check()?;
        let path = self.log_path(id);
        let log = files::open_read(&path).map_err(cannot("read", &path))?;
        Ok(LogReader::new(GrowingLog::new(log)).with_payloads(id.clone(), self.folders.payloads(id)))
    }

    /// Removes the session `id`: its snapshot, its log, the payloads of its log, and its outputs. A session that is not
    /// there is no error.
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::ErrorKind::Locked), [`Storage`](crate::ErrorKind::Storage).
    pub async fn remove(&self, id: &SessionId) -> Result<Deleted, Error> {
        let id = id.clone();
        self.blocking(move |folders| folders.delete(&id)).await
    }

    /// The folder that the store is in.
    pub(crate) fn base(&self) -> &Path {
        &self.folders.base
    }

    /// The folders of snapshots and of logs.
    pub(crate) fn parts(&self) -> (&Path, &Path) {
        (&self.folders.sessions, &self.folders.logs)
    }

    /// The time, as lock files have it.
    pub(crate) fn now(&self) -> Timestamp {
        self.folders.clock.now()
    }

    /// Where the lock of the session `id` is.
    pub(crate) fn lock_path(&self, id: &SessionId) -> PathBuf {
        self.folders.sessions.join(format!("{id}.lock"))
    }

    /// Locks the session `id`, whether it is there or not.
    pub(crate) fn lock(&self, id: &SessionId) -> Result<SessionLock, Error> {
        self.folders.make_and_lock(id)
    }

    /// What a listing shows of the session `id`.
    pub(crate) fn head_now(&self, id: &SessionId) -> Result<Option<SessionHead>, Error> {
        let (sessions, logs) = self.parts();
        listing::head(sessions, logs, id).map_err(cannot("read", self.base()))
    }

    /// Does `work` with this store where it may block.
    pub(crate) fn blocking_on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let store = self.clone();
        self.blocking(move |_| work(&store))
    }

    /// Does `work` where it may block, unless the folders are not what they should be.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folders) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let folders = Arc::clone(&self.folders);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || folders.check().and_then(|()| work(&folders)))
                .await
                .map_err(|error| Error::storage("the file store was stopped", error))?
        })
    }
}

/// Where snapshots and locks are.
pub(super) fn sessions_folder(base: &Path) -> PathBuf {
    base.join("sessions")
}

/// Where logs and payloads are.
pub(super) fn logs_folder(base: &Path) -> PathBuf {
    base.join("logs")
}

impl SessionStore for FileStore {
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        let id = id.clone();
        self.blocking(move |folders| folders.create(&id).map(Some))
    }

    fn create_with<'a>(
        &'a self,
        id: &'a SessionId,
        lines: Vec<u8>,
    ) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        let id = id.clone();
        self.blocking(move |folders| folders.create_with(&id, &lines).map(Some))
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        let id = id.clone();
        self.blocking(move |folders| folders.open(&id))
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        let id = id.clone();
        self.blocking(move |folders| folders.load(&id).map(|loaded| loaded.stored))
    }

    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        let id = id.clone();
        self.blocking(move |folders| {
            let path = log_path(&folders.logs, &id);
            let log = match files::open_read(&path) {
                Ok(log) => log,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(cannot("read", &path)(error)),
            };
            let payloads = folders.payloads(&id);
            Ok(Some(LogSource::new(id, log).with_payloads(payloads)))
        })
    }

    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        self.blocking(move |folders| {
            let path = record_path(&folders.sessions, &snapshot.head.id);
            files::replace(&path, &snapshot.json).map_err(cannot("write", &path))
        })
    }

    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        let id = id.clone();
        self.blocking(move |folders| {
            listing::head(&folders.sessions, &folders.logs, &id).map_err(cannot("read", &folders.base))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        self.blocking(|folders| {
            listing::list(&folders.sessions, &folders.logs).map_err(cannot("list", &folders.base))
        })
    }

    fn vouches_for<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, Result<bool, Error>> {
        let head = head.clone();
        self.blocking(move |folders| {
            let Folders { base, sessions, logs, clock } = folders;
            vouches_for(&head, (base, sessions, logs), clock.now()).map_err(cannot("read", base))
        })
    }

    fn outputs(&self, id: &SessionId) -> Option<PathBuf> {
        Some(outputs::folder_of(&self.folders.base, id))
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        let id = id.clone();
        self.blocking(move |folders| folders.delete(&id).map(drop))
    }
}

impl Folders {
    fn create(&self, id: &SessionId) -> Result<OpenLog, Error> {
        let log = log_path(&self.logs, id);
        let lock = self.make_and_lock(id)?;
        if self.holds(id)? {
            return Err(Error::exists(id));
        }
        let file = files::create_append(&log).map_err(cannot("make", &log))?;
        Ok(self.open_log(id, file, 0, lock))
    }

    /// The log appears whole, under its name, or not at all.
    fn create_with(&self, id: &SessionId, lines: &[u8]) -> Result<OpenLog, Error> {
        let path = log_path(&self.logs, id);
        let lock = self.make_and_lock(id)?;
        if self.holds(id)? {
            return Err(Error::exists(id));
        }
        let (lines, payloads) = without_payloads(id, lines);
        let written = self.write_whole(id, &path, &lines, payloads);
        let file = written.inspect_err(|_| drop(remove_all(&self.base, id)))?;
        Ok(self.open_log(id, file, lines.len() as u64, lock))
    }

    /// Payloads first, so that no line refers to one that is not there.
    fn write_whole(
        &self,
        id: &SessionId,
        path: &Path,
        lines: &[u8],
        payloads: Vec<Payload>,
    ) -> Result<File, Error> {
        if !payloads.is_empty() {
            let mut writer = PayloadWriter::new(&self.logs, id);
            let put = writer.put(payloads).and_then(|()| writer.sync());
            put.map_err(cannot("write the payloads of", path))?;
        }
        files::replace(path, lines).map_err(cannot("write", path))?;
        files::open_append(path).map_err(cannot("open", path))
    }

    fn open(&self, id: &SessionId) -> Result<(StoredSession, OpenLog), Error> {
        let path = log_path(&self.logs, id);
        if !self.holds(id)? {
            return Err(Error::not_found(id));
        }
        let lock = self.make_and_lock(id)?;
        let Loaded { mut stored, tail, .. } = self.load(id)?;
        let mut file = files::open_append(&path).map_err(cannot("open", &path))?;
        match tail {
            None | Some(Tail::Clean) => {}
            Some(Tail::Torn { at }) => {
                file.set_len(at).map_err(cannot("repair", &path))?;
                stored.mark.offset = at;
            }
            Some(Tail::Unended) => {
                file.write_all(b"\n").map_err(cannot("repair", &path))?;
                stored.mark.offset += 1;
            }
        }
        let log = self.open_log(id, file, stored.mark.offset, lock);
        Ok((stored, log))
    }

    fn load(&self, id: &SessionId) -> Result<Loaded, Error> {
        let payloads = self.payloads(id);
        load(id, &record_path(&self.sessions, id), &log_path(&self.logs, id), payloads)
    }

    fn payloads(&self, id: &SessionId) -> Arc<PayloadFiles> {
        Arc::new(PayloadFiles::new(&self.logs, id))
    }

    fn delete(&self, id: &SessionId) -> Result<Deleted, Error> {
        if !self.holds(id)? && !files::is_own_folder(&payload_folder(&self.logs, id)).unwrap_or(false) {
            return Ok(Deleted::nothing(id));
        }
        let _lock = self.make_and_lock(id)?;
        remove_all(&self.base, id)
    }

    /// Whether something stands where the files of the session `id` do.
    fn holds(&self, id: &SessionId) -> Result<bool, Error> {
        for path in [log_path(&self.logs, id), record_path(&self.sessions, id)] {
            if files::found(&path).map_err(cannot("read", &path))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses folders that are none, or links to others.
    fn check(&self) -> Result<(), Error> {
        for folder in [&self.base, &self.logs, &self.sessions] {
            files::is_own_folder(folder).map_err(cannot("use", folder))?;
        }
        Ok(())
    }

    /// Makes the folders where they are missing, and locks the session.
    fn make_and_lock(&self, id: &SessionId) -> Result<SessionLock, Error> {
        let parent = self.base.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::storage(format!("cannot keep a session in {}", parent.display()), missing)
                .with_hint("make the folder, or run without persistence"));
        }
        // In a folder of the user's making, such as one with committed settings, only ours are hidden.
        let shared = self.base.is_dir();
        for (folder, hide) in [(&self.base, true), (&self.logs, shared), (&self.sessions, shared)] {
            files::make_private_folder(folder, hide).map_err(cannot("make", folder))?;
        }
        SessionLock::acquire(&self.sessions.join(format!("{id}.lock")), id, self.clock.now())
    }

    fn open_log(&self, id: &SessionId, file: File, offset: u64, lock: SessionLock) -> OpenLog {
        let payloads = PayloadWriter::new(&self.logs, id);
        let log = FileLog::new(file, offset, self.logs.clone(), payloads, lock);
        OpenLog::new(Box::new(log), offset, log_path(&self.logs, id).display().to_string())
    }
}

fn cannot(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let told = format!("cannot {what} {}", path.display());
    move |error| {
        let read_only = matches!(
            error.kind(),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
        );
        let refused = error.kind() == std::io::ErrorKind::InvalidInput;
        let error = Error::storage(told, error);
        match (read_only, refused) {
            (true, _) => error.with_hint("make the folder writable, or run without persistence"),
            (_, true) => error.with_hint("remove what is there, or run without persistence"),
            _ => error,
        }
    }
}
