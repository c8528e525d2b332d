//! The tools that look through folders, on ripgrep's libraries.

mod glob;
mod grep;
mod hidden;
mod hits;
mod matcher;
mod newest;
mod sink;
mod walk;

pub(crate) use glob::Glob;
pub(crate) use grep::Grep;
