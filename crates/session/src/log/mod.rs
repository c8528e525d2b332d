//! The event log: the truth about a session, one event a line.

mod bus;
mod defect;
mod failure;
mod fold;
mod joined;
mod journal;
mod lines;
mod missing;
mod payload;
mod queue;
mod reader;
mod redaction;
mod sequence;
mod source;
mod subscription;
mod task;
mod writer;

pub use defect::{Defect, DefectKind, Defects};
pub(crate) use fold::Taken;
pub use fold::{LogFold, Tail};
pub use journal::{Journal, JournalOptions};
pub(crate) use lines::{Lines, Place};
pub use payload::{Payload, PayloadError, PayloadErrorKind, PayloadReference, PayloadSource};
pub(crate) use payload::{expand, extract};
pub use reader::{LogItem, LogReader};
pub use redaction::{LineFilter, redacting_filter};
pub(crate) use sequence::{Seen, Sequence};
pub use source::LogSource;
pub use subscription::Subscription;
pub use writer::{Durability, LogMark, LogWriter, OpenLog};
