//! A log that could not be written.

use std::io;
use std::sync::Arc;

/// Why the log could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session log {location} cannot be written: {source}")]
pub(super) struct LogFailure {
    pub(super) location: Arc<str>,
    /// Nothing of the session is in the log, so there is nothing to go on with.
    pub(super) nothing_kept: bool,
    pub(super) source: Arc<io::Error>,
}

impl From<LogFailure> for robota_core::Error {
    fn from(failure: LogFailure) -> Self {
        let hint = match (failure.source.kind(), failure.nothing_kept) {
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, true) => {
                "free some space, then start again: nothing of this session is on disk"
            }
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, false) => {
                "free some space, then resume the session; everything acknowledged so far is on disk"
            }
            (io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied, true) => {
                "make the folder writable, then start again; or run without persistence"
            }
            (io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied, false) => {
                "make the folder writable, then resume the session; or run without persistence"
            }
            (_, true) => "start again once the cause is gone: nothing of this session is on disk",
            (_, false) => {
                "resume the session once the cause is gone; everything acknowledged so far is on disk"
            }
        };
        Self::new(robota_core::ErrorKind::Storage, failure.to_string()).with_hint(hint).with_source(failure)
    }
}

/// The log was closed in good order.
pub(super) fn closed() -> robota_core::Error {
    robota_core::Error::new(robota_core::ErrorKind::Storage, "the session log is closed")
        .with_hint("resume the session to go on")
}
