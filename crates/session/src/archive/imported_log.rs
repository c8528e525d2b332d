//! The log of a session that is imported.

use robota_core::{Event, EventKind, MessageRef, SessionId, Timestamp};
use serde_json::value::to_raw_value;

use super::raw_object::RawObject;
use super::record::snapshot;
use super::{Artifact, ImportError, restate};
use crate::{DefectKind, Error, LineFilter, LogFold, SessionRecord, SessionStore, StoredSession};

/// What is written, and what it comes to.
pub(super) struct ImportedLog {
    /// The whole log.
    pub(super) lines: Vec<u8>,
    /// The session as it will be opened, but for what the log does not hold.
    pub(super) state: StoredSession,
    /// The lines tell a history that the log of the artifact does not.
    pub(super) restated: bool,
}

impl ImportedLog {
    /// The log of `artifact` as that of the session `id`.
    pub(super) fn of(
        artifact: &Artifact,
        id: &SessionId,
        filter: Option<&LineFilter>,
    ) -> Result<Self, Error> {
        let told = artifact.record.clone().into_stored();
        let (mut lines, more, restated, mut next) = match &artifact.log {
            None => (Vec::new(), restate::whole(&told, false), true, Next::new(id, 0, told.created_at)),
            Some(log) => {
                let lines = if *id == artifact.record.id { Ok(log.lines.clone()) } else { log.lines_of(id) };
                let (more, restated) = additions(&artifact.record, &told, &log.state);
                let next = Next::new(id, log.state.mark.seq, log.state.updated_at);
                (lines.map_err(cannot_encode)?, more, restated, next)
            }
        };
        add(more, &mut next, told.updated_at, &mut lines)?;
        Self::of_lines(id, lines, told, restated, filter)
    }

    /// A log that tells `told`, which nothing else tells.
    pub(super) fn telling(told: StoredSession, filter: Option<&LineFilter>) -> Result<Self, Error> {
        let (id, mut lines) = (told.id.clone(), Vec::new());
        let mut next = Next::new(&id, 0, told.created_at);
        add(restate::whole(&told, false), &mut next, told.updated_at, &mut lines)?;
        Self::of_lines(&id, lines, told, true, filter)
    }

    fn of_lines(
        id: &SessionId,
        mut lines: Vec<u8>,
        told: StoredSession,
        restated: bool,
        filter: Option<&LineFilter>,
    ) -> Result<Self, Error> {
        if let Some(filter) = filter {
            lines = filtered(&lines, filter)?;
        }
        let mut state = fold(id, &lines)?;
        state.extra = told.extra;
        Ok(Self { lines, state, restated })
    }

    /// Makes the session `id` of it, all of it or nothing, and says what it comes to.
    pub(super) async fn store(
        self,
        store: &dyn SessionStore,
        id: &SessionId,
        filter: Option<&LineFilter>,
    ) -> Result<StoredSession, Error> {
        let Self { lines, mut state, .. } = self;
        let Some(log) = store.create_with(id, lines).await? else { return Err(keeps_nothing()) };
        // Large fields may have gone into files of their own.
        state.mark.offset = log.offset;
        if let Err(error) = save(store, &state, filter).await {
            drop(log);
            if let Err(error) = store.delete(id).await {
                tracing::warn!(%error, session = %id, "a session that could not be made left files behind");
            }
            return Err(error);
        }
        // Its lock until here: nobody opens a session that is half there.
        drop(log);
        Ok(state)
    }
}

async fn save(
    store: &dyn SessionStore,
    state: &StoredSession,
    filter: Option<&LineFilter>,
) -> Result<(), Error> {
    store.save(snapshot(state, filter)?).await
}

fn keeps_nothing() -> Error {
    Error::storage("cannot import a session", "this store keeps nothing")
        .with_hint("import it into a store that keeps sessions")
}

/// Adds `kinds` to the lines of a log; all but the first of a log happened when the session last changed.
fn add(
    kinds: Vec<EventKind>,
    next: &mut Next<'_>,
    last_change: Timestamp,
    lines: &mut Vec<u8>,
) -> Result<(), Error> {
    for kind in kinds {
        let event = next.event(kind);
        serde_json::to_writer(&mut *lines, &event).map_err(cannot_encode)?;
        lines.push(b'\n');
        next.at = last_change.max(event.timestamp);
    }
    Ok(())
}

/// The numbers and times of events that are added to a log.
struct Next<'a> {
    id: &'a SessionId,
    seq: u64,
    at: Timestamp,
}

impl<'a> Next<'a> {
    fn new(id: &'a SessionId, seq: u64, at: Timestamp) -> Self {
        Self { id, seq, at }
    }

    fn event(&mut self, kind: EventKind) -> Event {
        self.seq += 1;
        Event {
            seq: self.seq,
            timestamp: self.at,
            session_id: self.id.clone(),
            turn: 0,
            redacted: false,
            kind,
        }
    }
}

/// What the log of an artifact must be told so that it tells what its record does; true when that is the
/// history.
fn additions(record: &SessionRecord, told: &StoredSession, log: &StoredSession) -> (Vec<EventKind>, bool) {
    let restated = !tells_the_same(record, log);
    let never_begun = log.cwd.as_os_str().is_empty() && log.system_prompt.is_none();
    let mut more = match (never_begun, restated) {
        (true, _) => restate::whole(told, true),
        (false, true) => restate::history(&told.history, true),
        // Positions have moved; from here on they count anew.
        (false, false) if log.has_gaps => {
            vec![EventKind::HistoryMutation(log.history.clone().replace(log.history.messages().to_vec()))]
        }
        (false, false) => Vec::new(),
    };
    if !never_begun && told.name != log.name && told.name.is_some() {
        more.push(EventKind::SessionName { name: told.name.clone() });
    }
    (more, restated || never_begun)
}

/// Whether a log came to the messages and the timeline of the record, where these may begin with the
/// system prompt.
fn tells_the_same(record: &SessionRecord, log: &StoredSession) -> bool {
    let is_system = |message: &MessageRef| message.role() == "system";
    let (messages, entries) = (log.history.messages(), log.history.entries());
    let same_messages = record.messages == messages
        || record.messages.split_first().is_some_and(|(first, rest)| is_system(first) && rest == messages);
    // Records from before there were timelines have none.
    let same_entries = record.history.is_empty()
        || record.history == entries
        || record
            .history
            .split_first()
            .is_some_and(|(first, rest)| first.r#type == "system" && rest == entries);
    same_messages && same_entries
}

/// The lines after the filter. Those that it changed say so.
fn filtered(lines: &[u8], filter: &LineFilter) -> Result<Vec<u8>, Error> {
    let redacted = to_raw_value(&true).map_err(cannot_encode)?;
    let mut clean = Vec::with_capacity(lines.len());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut filtered = line.to_vec();
        if !filter.apply(&mut filtered) {
            clean.append(&mut filtered);
        } else {
            let mut event: RawObject<'_> = serde_json::from_slice(&filtered).map_err(cannot_encode)?;
            event.set("redacted", &redacted);
            serde_json::to_writer(&mut clean, &event).map_err(cannot_encode)?;
        }
        clean.push(b'\n');
    }
    Ok(clean)
}

/// What the lines come to, which must be readable whole.
fn fold(id: &SessionId, lines: &[u8]) -> Result<StoredSession, Error> {
    let mut fold = LogFold::new(id.clone());
    fold.read(lines).map_err(|error| Error::storage("cannot read what is imported", error))?;
    let state = fold.finish();
    let usable = |kind| matches!(kind, DefectKind::MissingMessages | DefectKind::OutOfPlace);
    match state.defects.listed().iter().find(|defect| !usable(defect.kind)) {
        Some(defect) => Err(ImportError::field("record", "what fits into a log", &defect.detail).into()),
        None => Ok(state),
    }
}

fn cannot_encode(error: serde_json::Error) -> Error {
    Error::storage("cannot encode the log of a session", error)
}
