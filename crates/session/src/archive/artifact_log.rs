//! The log within an artifact: checked as a whole, by making of it what opening the session would.

use std::borrow::Cow;

use robota_core::{SessionId, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::artifact::{first_bad_time, start_of};
use super::raw_object::{RawObject, on_one_line};
use super::{ImportError, fields};
use crate::{DefectKind, LogFold, StoredSession};

/// Numbers of events beyond this are not gone on from: the next ones would run out.
const HIGHEST_SEQ: u64 = 1 << 53;

/// The events of an artifact as the lines of a log.
#[derive(Clone, Debug)]
pub(super) struct ArtifactLog {
    /// One event a line, each ended by a line break.
    pub(super) lines: Vec<u8>,
    pub(super) events: usize,
    /// The events have got new numbers, as theirs did not count up.
    pub(super) renumbered: bool,
    /// What the lines come to.
    pub(super) state: StoredSession,
    /// What of them could not be used, for a person.
    pub(super) unused: Vec<String>,
}

/// What every event has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    seq: u64,
    timestamp: Timestamp,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(default)]
    turn: u32,
    #[serde(borrow, rename = "event")]
    _event: Cow<'a, str>,
}

impl ArtifactLog {
    /// Checks `events`, which must be those of `session`.
    pub(super) fn check(session: &SessionId, events: &[&RawValue]) -> Result<Self, ImportError> {
        let (mut last, mut in_order) = (0, true);
        for (index, event) in events.iter().enumerate() {
            let seq = check_event(index, event, session)?;
            in_order &= seq > last && seq <= HIGHEST_SEQ;
            last = seq;
        }
        let mut lines = Vec::new();
        for (number, event) in (1..).zip(events) {
            let line = on_one_line(event.get());
            if in_order {
                lines.extend_from_slice(&line);
            } else {
                let path = || format!("log[{}]", number - 1);
                let line = renumbered(&line, number)
                    .map_err(|error| ImportError::field(path(), "an event", error))?;
                lines.extend_from_slice(&line);
            }
            lines.push(b'\n');
        }
        let (state, unused) = fold(session, &lines)?;
        Ok(Self { lines, events: events.len(), renumbered: !in_order, state, unused })
    }

    /// The lines as those of the session `id`.
    pub(super) fn lines_of(&self, id: &SessionId) -> serde_json::Result<Vec<u8>> {
        let own = to_raw_value(id)?;
        let mut lines = Vec::with_capacity(self.lines.len());
        for line in self.lines.split_inclusive(|byte| *byte == b'\n') {
            let mut event: RawObject<'_> = serde_json::from_slice(line)?;
            event.set("sessionId", &own);
            serde_json::to_writer(&mut lines, &event)?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

/// Checks one event, and says which number it has.
fn check_event(index: usize, event: &RawValue, session: &SessionId) -> Result<u64, ImportError> {
    let envelope = serde_json::from_str::<Envelope<'_>>(event.get()).ok().filter(|envelope| {
        let Envelope { timestamp, session_id, turn, .. } = envelope;
        fields::is_time(*timestamp) && session_id == session.as_str() && *turn <= fields::MOST_TURNS
    });
    if let Some(envelope) = envelope {
        return Ok(envelope.seq);
    }
    let path = format!("log[{index}]");
    let value = serde_json::from_str::<Value>(event.get());
    match value.map(|value| fields::event(&path, &value, session)) {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) => Err(ImportError::field(path, "an event", start_of(event))),
        Err(error) => Err(ImportError::field(path, "an event", error)),
    }
}

fn renumbered(line: &[u8], seq: u64) -> serde_json::Result<Vec<u8>> {
    let seq = to_raw_value(&seq)?;
    let mut event: RawObject<'_> = serde_json::from_slice(line)?;
    event.set("seq", &seq);
    serde_json::to_vec(&event)
}

/// What the lines come to. What a log that was damaged may look like is told; anything else is refused.
fn fold(session: &SessionId, lines: &[u8]) -> Result<(StoredSession, Vec<String>), ImportError> {
    let mut fold = LogFold::new(session.clone());
    fold.read(lines).map_err(|error| ImportError::field("log", "events", error))?;
    let state = fold.finish();
    let mut unused = Vec::new();
    for defect in state.defects.listed() {
        if matches!(defect.kind, DefectKind::MissingMessages | DefectKind::OutOfPlace) {
            unused.push(defect.to_string());
        } else {
            let index = defect.line.unwrap_or(1) - 1;
            return Err(ImportError::field(format!("log[{index}]"), "an event", &defect.detail));
        }
    }
    let (messages, entries) = (state.history.messages(), state.history.entries());
    let begun = [state.created_at, state.updated_at].into_iter().find(|time| !fields::is_time(*time));
    match begun.or_else(|| first_bad_time(messages, entries)) {
        Some(time) => Err(ImportError::field("log", "times that are times", Timestamp::as_millis(time))),
        None => Ok((state, unused)),
    }
}
