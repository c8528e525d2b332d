//! Another name for a session that nobody has open.

use robota_core::{Ambient, EventKind, EventSink, SessionId};
use serde::Serialize;
use serde_json::{Value, json};

use super::record::snapshot;
use super::restate;
use crate::{
    Error, Journal, JournalOptions, LineFilter, LogMark, OpenLog, SessionStore, StoredSession, session_name,
};

/// A log may grow this much past its snapshot before listings might miss what it says, in bytes.
const SEEN_BY_LISTINGS: u64 = 1024 * 1024;

/// What a rename came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RenameReport {
    /// The session.
    pub session_id: SessionId,
    /// What it was called.
    pub before: Option<String>,
    /// What it is called.
    pub after: Option<String>,
    /// Whether that is another name.
    pub changed: bool,
}

/// Gives the stored session `id` another name, or none, as [`Session::set_name`](crate::Session::set_name)
/// does for an open one: an event in its log.
///
/// `filter` goes over what is written, as [`SessionOptions::line_filter`](crate::SessionOptions) does. Needs
/// a tokio runtime with time enabled.
///
/// # Errors
///
/// [`InvalidName`](crate::ErrorKind::InvalidName), [`NotFound`](crate::ErrorKind::NotFound),
/// [`Locked`](crate::ErrorKind::Locked) when it is open, [`Storage`](crate::ErrorKind::Storage).
pub async fn rename(
    store: &dyn SessionStore,
    id: &SessionId,
    name: Option<&str>,
    ambient: &Ambient,
    filter: Option<LineFilter>,
) -> Result<RenameReport, Error> {
    let name = session_name::kept(name)?.map(|name| filtered(name, filter.as_ref()));
    let (mut stored, log) = store.open(id).await?;
    let before = std::mem::replace(&mut stored.name, name.clone());
    let changed = before != name;
    if changed {
        write(store, stored, log, ambient, filter).await?;
    }
    Ok(RenameReport { session_id: id.clone(), before, after: name, changed })
}

/// The name as it will stand in the log: what the filter takes out of it is nobody's to know.
fn filtered(name: String, filter: Option<&LineFilter>) -> String {
    let Some((filter, mut line)) = filter.zip(serde_json::to_vec(&json!({ "name": name })).ok()) else {
        return name;
    };
    let _ = filter.apply(&mut line);
    let kept = serde_json::from_slice::<Value>(&line).ok();
    kept.and_then(|kept| kept.get("name")?.as_str().map(str::to_owned)).unwrap_or(name)
}

async fn write(
    store: &dyn SessionStore,
    mut stored: StoredSession,
    log: OpenLog,
    ambient: &Ambient,
    filter: Option<LineFilter>,
) -> Result<(), Error> {
    let kinds = if stored.outside_log {
        // From its first line on a log is the truth, so it must tell all of it.
        restate::whole(&stored, log.offset > 0)
    } else {
        vec![EventKind::SessionName { name: stored.name.clone() }]
    };
    let mut options = JournalOptions::new(stored.id.clone());
    options.ambient = ambient.clone();
    options.last_seq = stored.mark.seq;
    options.filter.clone_from(&filter);
    let journal = Journal::start(options, Some(log));
    kinds.into_iter().for_each(|kind| journal.emit(kind));
    let written = journal.flush().await;
    let LogMark { seq, offset } = journal.mark();
    let saved = match written {
        Err(error) => Err(error.into()),
        Ok(()) if stored.outside_log || offset.saturating_sub(stored.snapshot_offset) > SEEN_BY_LISTINGS => {
            stored.mark = LogMark { seq, offset };
            stored.updated_at = ambient.now();
            save(store, &stored, filter.as_ref()).await
        }
        Ok(()) => Ok(()),
    };
    // The lock until here: nobody else takes a snapshot meanwhile.
    journal.close().await;
    saved
}

async fn save(
    store: &dyn SessionStore,
    stored: &StoredSession,
    filter: Option<&LineFilter>,
) -> Result<(), Error> {
    // Positions in a log with gaps have moved; whoever opens it next sets that right first.
    if stored.has_gaps && !stored.outside_log {
        return Ok(());
    }
    store.save(snapshot(stored, filter)?).await
}
