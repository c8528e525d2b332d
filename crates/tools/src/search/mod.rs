//! The tools that look through folders, on ripgrep's libraries.
//!
//! [`walk`] finds the files, on this machine or through a sandbox ([`remote_walk`]); Glob keeps the [`newest`],
//! Grep the first [`hits`] by path of what [`file_search`] finds in each.

mod file_search;
mod file_types;
mod glob;
mod globs;
mod grep;
mod grep_report;
mod hidden;
mod hits;
mod matcher;
mod newest;
mod reach;
mod remote_ignore;
mod remote_walk;
#[cfg(test)]
mod remote_walk_tests;
mod sink;
mod walk;

pub(crate) use glob::Glob;
pub(crate) use grep::Grep;
