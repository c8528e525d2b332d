//! A log that could not be written.

use std::io;
use std::sync::Arc;

/// Why the log could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session log {location} cannot be written: {source}")]
pub(super) struct LogFailure {
    pub(super) location: Arc<str>,
    pub(super) source: Arc<io::Error>,
}

impl From<LogFailure> for robota_core::Error {
    fn from(failure: LogFailure) -> Self {
        let hint = match failure.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, then resume the session; everything acknowledged so far is on disk"
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                "make the folder writable, then resume the session; or run without persistence"
            }
            _ => "resume the session once the cause is gone; everything acknowledged so far is on disk",
        };
        Self::new(robota_core::ErrorKind::Storage, failure.to_string()).with_hint(hint).with_source(failure)
    }
}

/// The log was closed in good order.
pub(super) fn closed() -> robota_core::Error {
    robota_core::Error::new(robota_core::ErrorKind::Storage, "the session log is closed")
        .with_hint("resume the session to go on")
}
