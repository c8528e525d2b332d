//! Sessions of the robota agent runtime: run, record, resume.
//!
//! A [`Session`] is a conversation with a model. It runs one turn at a time, asks before tools do
//! what rules do not settle, and writes everything that happens to an append-only log, which is the
//! truth about it: a session is resumed by folding its log. A turn is acknowledged only after its
//! records are durable.
//!
//! Sessions are kept in a [`SessionStore`]: [`FileStore`] for files beside a project,
//! [`MemoryStore`] for memory, [`NullStore`] for none. Snapshots and listings of a store are caches of the logs.
//!
//! The [`Journal`] is the one sink of all events; [`LogReader`] and [`LogFold`] read what it wrote,
//! in whatever state a crash has left it.

mod compaction;
mod error;
mod files;
mod log;
mod permission;
mod printable;
mod replay;
mod session;
mod session_name;
mod store;

pub use compaction::{AutoCompactThreshold, InvalidThreshold};
pub use error::{Error, ErrorKind, LockOwner};
pub use log::{
    Defect, DefectKind, Defects, Durability, Journal, JournalOptions, LineFilter, LogFold, LogItem, LogMark,
    LogReader, LogSource, LogWriter, OpenLog, Payload, PayloadError, PayloadErrorKind, PayloadReference,
    PayloadSource, Subscription, Tail, redacting_filter,
};
pub use permission::{PermissionAnswer, PermissionHandler, PermissionRequest};
pub use replay::{Divergence, ReplayReport, TurnReplay, replay};
pub use session::{Denial, InjectedRole, Prompt, Session, SessionOptions, TurnOutcome};
#[cfg(feature = "conformance")]
pub use store::conformance;
pub use store::{
    FileStore, Listing, MemoryStore, NullStore, RecordLog, SessionHead, SessionRecord, SessionStore,
    SkippedFile, Snapshot, StoredSession,
};
