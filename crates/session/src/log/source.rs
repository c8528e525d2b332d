//! A log that is open for reading, with what belongs to it.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use robota_core::SessionId;

use super::{LogReader, PayloadSource};

/// The log of a session as a store gives it out: its lines, and the payloads they refer to.
#[non_exhaustive]
pub struct LogSource {
    /// The session.
    pub session: SessionId,
    /// The log from its beginning. Reading may block.
    pub lines: Box<dyn Read + Send>,
    /// Its payloads; `None` from a store that keeps none.
    pub payloads: Option<Arc<dyn PayloadSource>>,
}

impl LogSource {
    /// The log of `session` in `lines`, without payloads.
    #[must_use]
    pub fn new(session: SessionId, lines: impl Read + Send + 'static) -> Self {
        Self { session, lines: Box::new(lines), payloads: None }
    }

    /// The same log with its payloads.
    #[must_use]
    pub fn with_payloads(mut self, payloads: Arc<dyn PayloadSource>) -> Self {
        self.payloads = Some(payloads);
        self
    }

    /// Reads it event by event, payloads in their place.
    #[must_use]
    pub fn into_reader(self) -> LogReader<Box<dyn Read + Send>> {
        let reader = LogReader::new(self.lines);
        match self.payloads {
            Some(payloads) => reader.with_payloads(self.session, payloads),
            None => reader,
        }
    }
}

impl fmt::Debug for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogSource").field("session", &self.session).finish_non_exhaustive()
    }
}
