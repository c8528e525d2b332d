//! The tools that work on single files, and what they share.

mod alone;
mod atomic;
mod attributes;
mod changed;
mod changes;
mod decoded;
mod diff;
mod differences;
mod edit;
mod edit_input;
pub(crate) mod exact;
mod line_index;
mod matching;
mod missing;
pub(crate) mod name;
mod near_miss;
mod passing;
mod reach;
mod read;
mod read_document;
mod read_state;
mod rewrite;
mod seen;
mod shown;
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
