//! Large fields of log lines, which stand in files of their own (facts sheet 4.3).
//!
//! A field whose JSON is longer than [`INLINE_LIMIT`] stands in a payload named after its SHA-256, and
//! the line has a [`PayloadReference`] in its place. Fields are replaced from the inside out, so a
//! payload may hold references too. An object that only looks like a reference is put into a payload
//! as well: what a payload is as a whole is never taken for a reference, so it reads back as it was.

mod error;
mod expand;
mod extract;
mod reference;
mod rewrite;

pub use error::{PayloadError, PayloadErrorKind};
pub use expand::PayloadSource;
pub(crate) use expand::expand;
pub(super) use expand::has_references;
pub use extract::Payload;
pub(crate) use extract::extract;
pub use reference::PayloadReference;

/// Fields that are longer than this as JSON, in bytes, stand in payloads.
const INLINE_LIMIT: usize = 32 * 1024;

/// Fields of the envelope of an event, which always stand in the line.
const ENVELOPE: [&str; 6] = ["seq", "timestamp", "sessionId", "turn", "event", "redacted"];
