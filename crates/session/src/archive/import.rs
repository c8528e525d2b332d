//! An artifact becomes a session.

use std::io::Read;

use robota_core::{Ambient, SessionId};
use serde::Serialize;

use super::imported_log::ImportedLog;
use super::{Artifact, ImportError, ImportErrorKind, parse_artifact};
use crate::{Error, ErrorKind, LineFilter, SessionStore};

/// How an artifact is imported.
#[derive(Clone)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Under which id.
    pub id: ImportId,
    /// Largest artifact that [`import_from`] reads, in bytes.
    pub limit: u64,
    /// Where fresh ids come from.
    pub ambient: Ambient,
    /// Goes over every line and the snapshot before they are stored.
    pub line_filter: Option<LineFilter>,
}

impl Default for ImportOptions {
    /// Under the artifact's own id, at most 256 MiB, no filter.
    fn default() -> Self {
        let ambient = Ambient::default();
        Self { id: ImportId::Own, limit: 256 * 1024 * 1024, ambient, line_filter: None }
    }
}

/// The id of an imported session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportId {
    /// That of the artifact.
    #[default]
    Own,
    /// A new one.
    Fresh,
    /// This one.
    As(SessionId),
}

/// What an import came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImportReport {
    /// The session that was made.
    pub session_id: SessionId,
    /// The session the artifact was made from.
    pub original_id: SessionId,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Messages the model will see, the system prompt not counted.
    pub messages: usize,
    /// Turns it has had, as its log counts them; 0 when the artifact has no log.
    pub turns: u32,
    /// Events taken over from the log of the artifact; `None` when it has no log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<usize>,
    /// The log of the artifact was missing, or told another history than the record, so the new log was
    /// told the history of the record.
    pub restated: bool,
    /// The events of the artifact did not count up, and have got new numbers.
    pub renumbered: bool,
    /// Events that say nothing usable, such as messages out of place, for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// Fields of the artifact that this version does not know; they are not imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_fields: Vec<String>,
    /// Fields of the record that this version does not know; they are kept with the session as they are,
    /// and nothing acts on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_fields: Vec<String>,
}

/// Reads an artifact from `from` and imports it.
///
/// # Errors
///
/// As [`import`]; [`InvalidArtifact`](ErrorKind::InvalidArtifact) when it is none, or larger than
/// `options.limit`; [`Storage`](ErrorKind::Storage) when `from` cannot be read.
pub async fn import_from(
    store: &dyn SessionStore,
    from: impl Read,
    options: &ImportOptions,
) -> Result<ImportReport, Error> {
    let artifact = read_artifact(from, options.limit)?;
    import(store, &artifact, options).await
}

/// Makes a session of an artifact, all of it or nothing.
///
/// Its log holds the events of the artifact, or tells the history of the record where there are none.
/// Approvals of tool calls are not among what a session is made from, so none are imported, whatever the
/// artifact holds.
///
/// # Errors
///
/// [`Exists`](ErrorKind::Exists), [`Locked`](ErrorKind::Locked), [`Storage`](ErrorKind::Storage), also for
/// a store that keeps nothing; [`InvalidId`](ErrorKind::InvalidId) when `options.ambient` makes no valid
/// ids. Nothing is there then that was not there before.
pub async fn import(
    store: &dyn SessionStore,
    artifact: &Artifact,
    options: &ImportOptions,
) -> Result<ImportReport, Error> {
    let id = match &options.id {
        ImportId::Own => artifact.record.id.clone(),
        ImportId::Fresh => options.ambient.next_id().parse()?,
        ImportId::As(id) => id.clone(),
    };
    let filter = options.line_filter.as_ref();
    let imported = ImportedLog::of(artifact, &id, filter)?;
    let restated = imported.restated;
    let state = imported.store(store, &id, filter).await.map_err(|error| match error.kind() {
        ErrorKind::Exists => error.with_hint("import it under a fresh id, or delete the session first"),
        _ => error,
    })?;
    let log = artifact.log.as_ref();
    Ok(ImportReport {
        session_id: id,
        original_id: artifact.record.id.clone(),
        name: state.name,
        messages: state.history.messages().len(),
        turns: state.turn,
        events: artifact.events(),
        restated,
        renumbered: log.is_some_and(|log| log.renumbered),
        unused: log.map(|log| log.unused.clone()).unwrap_or_default(),
        ignored_fields: artifact.ignored_fields.clone(),
        kept_fields: artifact.record.extra.keys().cloned().collect(),
    })
}

fn read_artifact(from: impl Read, limit: u64) -> Result<Artifact, Error> {
    let mut json = Vec::new();
    from.take(limit.saturating_add(1))
        .read_to_end(&mut json)
        .map_err(|error| Error::storage("cannot read the artifact", error))?;
    if json.len() as u64 > limit {
        let expected = format!("at most {limit} bytes");
        return Err(ImportError::new(ImportErrorKind::TooLarge, "", expected, "more").into());
    }
    Ok(parse_artifact(&json)?)
}
