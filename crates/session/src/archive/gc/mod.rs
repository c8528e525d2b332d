//! What is left over in the folder of a store: found first, shown, and only then removed.
//!
//! A snapshot without a log is never left over: it may be all there is of a session.

mod apply;
mod plan;
mod references;

use std::path::PathBuf;
use std::time::Duration;

use robota_core::{SessionId, Timestamp};
use serde::Serialize;

use crate::{Error, FileStore, SkippedFile};

/// What [`plan_gc`] looks for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GcOptions {
    /// Whole sessions in which nothing has happened for this long; `None` for none.
    pub older_than: Option<Duration>,
    /// How old a temporary file must be before nobody can be writing it any more.
    pub leftover_age: Duration,
}

impl Default for GcOptions {
    /// No sessions; temporary files of an hour and more.
    fn default() -> Self {
        Self { older_than: None, leftover_age: Duration::from_hours(1) }
    }
}

/// What can be removed, and what was left out of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GcPlan {
    /// What can be removed, by session.
    pub items: Vec<GcItem>,
    /// What was not looked at, or cannot be, and why: sessions that are open, for one.
    pub left_alone: Vec<SkippedFile>,
    /// Sessions in which something happened after this stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_before: Option<Timestamp>,
    /// Temporary files that were written after this stay.
    pub leftovers_before: Timestamp,
}

impl GcPlan {
    /// How much it would free, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| item.bytes).sum()
    }
}

/// Something that can be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GcItem {
    /// What it is.
    pub kind: GcKind,
    /// The session it belongs to, or did; `None` for a temporary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Where it is. For a session, its snapshot or its log.
    #[serde(serialize_with = "robota_core::path_text::serialize")]
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// Why it can go, for a person.
    pub reason: String,
}

/// The kinds of things that are left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum GcKind {
    /// A whole session, for its age.
    OldSession,
    /// A payload that no line of its log refers to.
    UnusedPayload,
    /// A folder of payloads without a log.
    OrphanPayloads,
    /// A folder of outputs without a session.
    OrphanOutputs,
    /// A lock that nobody holds.
    StaleLock,
    /// A temporary file that somebody began to write.
    Leftover,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GcReport {
    /// What is gone.
    pub removed: Vec<GcItem>,
    /// What is still there, and why.
    pub kept: Vec<SkippedFile>,
    /// How much was freed, in bytes.
    pub bytes: u64,
}

/// Finds what can be removed from `store`. Removes nothing, and needs no lock.
///
/// # Errors
///
/// [`Storage`](crate::ErrorKind::Storage) when the folders cannot be listed.
pub async fn plan_gc(store: &FileStore, options: &GcOptions) -> Result<GcPlan, Error> {
    let options = *options;
    store.blocking_on(move |store| plan::plan(store, &options)).await
}

/// Removes what `plan` says, each thing only when it can still go: looked at again with its session
/// locked. Sessions that are open are left alone. Symbolic links are not followed.
///
/// # Errors
///
/// [`Storage`](crate::ErrorKind::Storage) when nothing could be tried at all; what single things met is in
/// the report.
pub async fn apply_gc(store: &FileStore, plan: GcPlan) -> Result<GcReport, Error> {
    store.blocking_on(move |store| Ok(apply::apply(store, &plan))).await
}
