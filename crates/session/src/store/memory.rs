//! Sessions in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Cursor};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use robota_core::{Clock, SessionId, SystemClock, Timestamp};

use super::head::HeadFields;
use super::{Listing, SessionHead, SessionStore, SkippedFile, Snapshot, StoredSession, log_head};
use crate::log::Tail;
use crate::{Error, LockOwner, LogSource, LogWriter, OpenLog};

/// Keeps sessions in the memory of this process, for tests and for hosts that keep them elsewhere.
///
/// It has the promises of every store but one: nothing survives the end of the process, whatever is synced. Clones
/// are handles to the same sessions.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    sessions: Mutex<BTreeMap<SessionId, Kept>>,
    clock: Arc<dyn Clock>,
}

/// One session. What is shared is read without holding the others up; who writes meanwhile takes a copy.
#[derive(Default)]
struct Kept {
    log: Option<Arc<Vec<u8>>>,
    record: Option<Arc<Vec<u8>>>,
    /// When the log was last written.
    written: Timestamp,
    /// Who has it open.
    owner: Option<LockOwner>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("sessions", &self.shared.sessions().len()).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// A store without sessions.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// The same with another clock, which tells when sessions were written and since when they are open.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::new(Shared { sessions: Mutex::default(), clock }) }
    }

    /// The log of the session `id` as it is now.
    #[must_use]
    pub fn log(&self, id: &SessionId) -> Option<Arc<Vec<u8>>> {
        self.shared.sessions().get(id)?.log.clone()
    }

    /// The snapshot of the session `id`, a [`SessionRecord`](super::SessionRecord) as JSON.
    #[must_use]
    pub fn record(&self, id: &SessionId) -> Option<Arc<Vec<u8>>> {
        self.shared.sessions().get(id)?.record.clone()
    }
}

impl SessionStore for MemoryStore {
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        ready(move || {
            let mut sessions = self.shared.sessions();
            if let Some(kept) = sessions.get(id) {
                return Err(kept
                    .owner
                    .clone()
                    .map_or_else(|| Error::exists(id), |owner| Error::locked(id, owner)));
            }
            let owner = self.shared.this_process();
            let log = Some(Arc::default());
            sessions.insert(id.clone(), Kept { log, owner: Some(owner), ..Kept::default() });
            Ok(Some(self.open_log(id, 0)))
        })
    }

    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>> {
        ready(move || {
            let (record, log) = {
                let mut sessions = self.shared.sessions();
                let kept = sessions.get_mut(id).ok_or_else(|| Error::not_found(id))?;
                if let Some(owner) = &kept.owner {
                    return Err(Error::locked(id, owner.clone()));
                }
                kept.owner = Some(self.shared.this_process());
                (kept.record.clone(), kept.log.clone())
            };
            // From here on, dropping this gives the session free again.
            let mut open = self.open_log(id, 0);
            let (mut stored, tail) = read(id, record.as_deref(), log.as_deref())?;
            let mut sessions = self.shared.sessions();
            let log = sessions.entry(id.clone()).or_default().log.get_or_insert_default();
            match tail {
                None | Some(Tail::Clean) => {}
                Some(Tail::Torn { at }) => {
                    Arc::make_mut(log).truncate(usize::try_from(at).unwrap_or(usize::MAX));
                    stored.mark.offset = at;
                }
                Some(Tail::Unended) => {
                    Arc::make_mut(log).push(b'\n');
                    stored.mark.offset += 1;
                }
            }
            open.offset = stored.mark.offset;
            Ok((stored, open))
        })
    }

    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>> {
        ready(move || {
            let files = self.shared.sessions().get(id).map(|kept| (kept.record.clone(), kept.log.clone()));
            let (record, log) = files.ok_or_else(|| Error::not_found(id))?;
            Ok(read(id, record.as_deref(), log.as_deref())?.0)
        })
    }

    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>> {
        ready(|| Ok(self.log(id).map(|log| LogSource::new(id.clone(), Cursor::new(SharedLog(log))))))
    }

    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>> {
        ready(move || {
            let mut sessions = self.shared.sessions();
            sessions.entry(snapshot.head.id).or_default().record = Some(Arc::new(snapshot.json));
            Ok(())
        })
    }

    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>> {
        ready(move || {
            let sessions = self.shared.sessions();
            let unknown = || SessionHead::new(id.clone(), PathBuf::new(), Timestamp::default());
            Ok(sessions.get(id).map(|kept| kept.head(id).unwrap_or_else(|_| unknown())))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        ready(move || {
            let mut listing = Listing::default();
            for (id, kept) in &*self.shared.sessions() {
                match kept.head(id) {
                    Ok(head) => listing.sessions.push(head),
                    Err(reason) => {
                        listing
                            .skipped
                            .push(SkippedFile { path: place(id).into(), reason: reason.to_string() });
                    }
                }
            }
            listing.sort();
            Ok(listing)
        })
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>> {
        ready(move || {
            let mut sessions = self.shared.sessions();
            if let Some(owner) = sessions.get(id).and_then(|kept| kept.owner.clone()) {
                return Err(Error::locked(id, owner));
            }
            sessions.remove(id);
            Ok(())
        })
    }
}

/// Does `work` when it is asked for; nothing in it waits.
fn ready<'a, T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'a) -> BoxFuture<'a, Result<T, E>> {
    Box::pin(async move { work() })
}

fn place(id: &SessionId) -> String {
    format!("memory:{id}")
}

fn read(
    id: &SessionId,
    record: Option<&Vec<u8>>,
    log: Option<&Vec<u8>>,
) -> Result<(StoredSession, Option<Tail>), Error> {
    StoredSession::read(id, &place(id), record.map(Cursor::new), log.map(Cursor::new), None)
}

impl MemoryStore {
    fn open_log(&self, id: &SessionId, offset: u64) -> OpenLog {
        let writer = MemoryLog { shared: Arc::clone(&self.shared), id: id.clone() };
        OpenLog::new(Box::new(writer), offset, place(id))
    }
}

impl Shared {
    /// What it guards is changed in single steps, so a panic elsewhere leaves it whole.
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Kept>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn this_process(&self) -> LockOwner {
        LockOwner { pid: Some(std::process::id()), since: Some(self.clock.now()) }
    }
}

impl Kept {
    fn head(&self, id: &SessionId) -> io::Result<SessionHead> {
        let log = self.log.as_deref().map(Vec::as_slice).unwrap_or_default();
        if let Some(fields) = self.record.as_deref().and_then(|json| HeadFields::of_prefix(json)) {
            let taken_at = fields.log.and_then(|place| usize::try_from(place.offset).ok());
            if let Some(mut head) = fields.into_head().filter(|head| head.id == *id) {
                let Some(rest) = taken_at.and_then(|at| log.get(at..)).filter(|rest| !rest.is_empty()) else {
                    return Ok(head);
                };
                head.updated_at = head.updated_at.max(self.written);
                return Ok(log_head::told(id, Some(head.clone()), rest, None)?.unwrap_or(head));
            }
        }
        let mut head = log_head::told(id, None, log, None)?.ok_or_else(|| {
            io::Error::other("neither its record nor its log tells anything of this session")
        })?;
        head.updated_at = head.updated_at.max(self.written);
        Ok(head)
    }
}

/// A log as it was when it was given out.
struct SharedLog(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedLog {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Appends to the log of a session, and has it open.
struct MemoryLog {
    shared: Arc<Shared>,
    id: SessionId,
}

impl LogWriter for MemoryLog {
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        ready(move || {
            let mut sessions = self.shared.sessions();
            let kept = sessions.entry(self.id.clone()).or_default();
            Arc::make_mut(kept.log.get_or_insert_default()).extend_from_slice(lines);
            kept.written = self.shared.clock.now();
            Ok(())
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        ready(|| Ok(()))
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if let Some(kept) = self.shared.sessions().get_mut(&self.id) {
            kept.owner = None;
        }
    }
}
