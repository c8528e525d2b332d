//! The port below the journal: something that takes whole lines and can make them durable.

use std::io;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::Payload;

/// Appends lines to the log of one session. Whoever holds it is the one writer of the session.
///
/// Dropping it gives the session free for the next writer.
pub trait LogWriter: Send {
    /// Appends whole lines. When it returns, they survive the death of this process.
    ///
    /// # Errors
    ///
    /// When not all lines could be taken. The journal does not call it again after that.
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// Whether large fields of lines can be kept apart, as payloads. Where not, they stand in the lines.
    fn keeps_payloads(&self) -> bool {
        false
    }

    /// Keeps payloads that the lines appended next refer to, each whole or not at all. When it returns,
    /// they survive the death of this process. One that is there already need not be written again.
    ///
    /// # Errors
    ///
    /// When not all could be taken. The journal does not call it again after that.
    fn put_payloads(&mut self, _payloads: Vec<Payload>) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    /// Makes everything put and appended so far survive the death of the machine: payloads before the
    /// lines that refer to them.
    ///
    /// # Errors
    ///
    /// When that cannot be promised.
    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>>;
}

/// A log opened for appending.
#[non_exhaustive]
pub struct OpenLog {
    /// Where lines go.
    pub writer: Box<dyn LogWriter>,
    /// Size of the log in bytes, all of it whole lines.
    pub offset: u64,
    /// Where the log is, for messages to people: a path or an address without secrets.
    pub location: String,
}

impl OpenLog {
    /// A log of `offset` bytes behind `writer`, called `location` in messages.
    #[must_use]
    pub fn new(writer: Box<dyn LogWriter>, offset: u64, location: impl Into<String>) -> Self {
        Self { writer, offset, location: location.into() }
    }
}

/// A place in a log: after the event `seq`, before the byte `offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data; the record format knows exactly these two")]
pub struct LogMark {
    /// Position of the last event before this place; 0 at the beginning.
    pub seq: u64,
    /// Bytes before this place.
    pub offset: u64,
}

/// When the log is made to survive the death of the machine.
///
/// The death of the process alone never loses anything acknowledged, whatever is chosen: the log
/// is handed to the operating system before a tool runs and before a turn is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Durability {
    /// Once per turn, before it is acknowledged. A power cut loses at most the turn that runs.
    #[default]
    Turn,
    /// Also before every model call and every tool call. A power cut loses at most what happened since the last
    /// of them began, and never the fact that a tool call began.
    Event,
    /// Never by itself, only when [`Session::flush`](crate::Session::flush) asks. A power cut may lose
    /// the turns of the last half minute or so, acknowledged ones too.
    None,
}
