//! Compaction: a long history becomes a summary, so that the conversation fits its window again.

mod threshold;

pub use threshold::{AutoCompactThreshold, InvalidThreshold};
