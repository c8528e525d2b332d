//! Where sessions are kept.

#[cfg(feature = "conformance")]
pub mod conformance;
mod decode;
mod file;
mod file_log;
mod find;
mod growing_log;
mod head;
mod listing;
mod load;
mod lock;
mod log_head;
mod memory;
mod null;
mod payloads;
mod read_record;
mod record;
mod remove;
mod seal;
mod stored;
mod timeline;
mod vouch;
mod whole_log;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use robota_core::SessionId;

pub use file::FileStore;
pub use growing_log::GrowingLog;
pub use head::SessionHead;
pub(crate) use head::preview;
pub use listing::{Listing, SkippedFile};
pub(crate) use listing::{list as list_sessions, session_files};
pub(crate) use lock::SessionLock;
pub use memory::MemoryStore;
pub use null::NullStore;
pub(crate) use payloads::payload_folder;
pub(crate) use record::PROMPT_ID;
pub use record::{RecordLog, SessionRecord};
pub use remove::{Deleted, DeletedFile};
pub(crate) use remove::{remove_all, remove_file};
pub use stored::StoredSession;

use crate::{Error, LogSource, OpenLog};

/// A place that keeps sessions: for each one a log, which is the truth, and a snapshot, which is a
/// cache of the log's fold that may be deleted at any time (design section 5).
///
/// Whoever holds the [`OpenLog`] of a session is its one writer. Readers need no permission, and
/// may see a log whose last line is still being written.
pub trait SessionStore: Send + Sync {
    /// Makes the session `id` with an empty log; `None` from a store that keeps nothing.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists), [`Locked`](crate::ErrorKind::Locked),
    /// [`Storage`](crate::ErrorKind::Storage).
    fn create<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<OpenLog>, Error>>;

    /// Makes the session `id` with a log of `lines`, all of them or nothing; large fields stand in the lines,
    /// and are kept as the store does it. `None` from a store that keeps nothing.
    ///
    /// # Errors
    ///
    /// As [`create`](SessionStore::create); the session is not there then.
    fn create_with<'a>(
        &'a self,
        id: &'a SessionId,
        lines: Vec<u8>,
    ) -> BoxFuture<'a, Result<Option<OpenLog>, Error>> {
        Box::pin(whole_log::create_then_append(self.create(id), id, lines, move || self.delete(id)))
    }

    /// Opens the session `id` for writing. Half a line at the end of the log is taken off first, and
    /// a missing line break added, so that the next line stands by itself.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Locked`](crate::ErrorKind::Locked),
    /// [`Storage`](crate::ErrorKind::Storage). Damage is no error: see [`StoredSession::defects`].
    fn open<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(StoredSession, OpenLog), Error>>;

    /// Reads the session `id`, whoever has it open.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Storage`](crate::ErrorKind::Storage).
    fn load<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<StoredSession, Error>>;

    /// The log of the session `id`, whoever has it open; `None` when it has none. What replays, shows, exports
    /// or forks a session at some point reads it from here.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage).
    fn read_log<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<LogSource>, Error>>;

    /// Replaces the snapshot of a session, all or nothing.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage); the earlier snapshot stays.
    fn save(&self, snapshot: Snapshot) -> BoxFuture<'_, Result<(), Error>>;

    /// The head of the session `id`; `None` when there is no such session.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage).
    fn head<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<Option<SessionHead>, Error>>;

    /// The heads of all sessions, latest first. What cannot be read is named, not fatal.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage) when there is no list to be had at all.
    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>>;

    /// Whether the session of `head` may be gone on with when nobody named it. A store in which
    /// others can put files says no to sessions that do not look like its own; any other says yes.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage).
    fn vouches_for<'a>(&'a self, _head: &'a SessionHead) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async { Ok(true) })
    }

    /// The folder for whole outputs of the session `id`, which its results show only in part; it need not exist.
    /// `None` from a store that keeps no files. Whoever has the session open writes there, and
    /// [`delete`](SessionStore::delete) removes it.
    fn outputs(&self, _id: &SessionId) -> Option<PathBuf> {
        None
    }

    /// Removes the session `id` with its log, payloads and outputs. A session that is not there is no error.
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::ErrorKind::Locked), [`Storage`](crate::ErrorKind::Storage).
    fn delete<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<(), Error>>;
}

/// A snapshot ready to be stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// What a listing shows of the session.
    pub head: SessionHead,
    /// The [`SessionRecord`] as JSON, after the session's filter.
    pub json: Vec<u8>,
}

impl Snapshot {
    /// The snapshot `json` of the session that `head` describes.
    #[must_use]
    pub fn new(head: SessionHead, json: Vec<u8>) -> Self {
        Self { head, json }
    }
}
