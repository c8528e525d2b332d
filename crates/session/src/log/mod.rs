//! The event log: the truth about a session, one event a line.

mod bus;
mod defect;
mod failure;
mod fold;
mod journal;
mod lines;
mod missing;
mod queue;
mod reader;
mod sequence;
mod subscription;
mod task;
mod writer;

use std::sync::Arc;

pub use defect::{Defect, DefectKind, Defects};
pub(crate) use fold::Taken;
pub use fold::{LogFold, Tail};
pub use journal::{Journal, JournalOptions};
pub(crate) use lines::Lines;
pub use reader::{LogItem, LogReader};
pub use subscription::Subscription;
pub use writer::{Durability, LogMark, LogWriter, OpenLog};

/// Changes a line of the log, or a snapshot, before it is stored: takes secrets out. It must leave
/// valid JSON without line breaks.
pub type LineFilter = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;
