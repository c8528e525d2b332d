//! The tools that work on single files, and what they share.

mod atomic;
mod diff;
mod edit;
pub(crate) mod exact;
mod matching;
mod missing;
mod near_miss;
mod reach;
mod read;
mod read_state;
mod seen;
mod slice;
mod snippet;
mod stat;
mod target;
mod write;

pub(crate) use edit::Edit;
pub(crate) use missing::missing_path;
pub(crate) use reach::{Content, Remote};
pub(crate) use read::Read;
pub(crate) use read_state::ReadState;
pub(crate) use stat::{Kind, Stat};
pub(crate) use write::Write;
