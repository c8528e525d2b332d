//! From the lines of a log back to the state of a session.

mod changes;
mod events;

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{HistoryHead, HistoryMutation, SessionId, Timestamp, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::{Line, Lines};
use super::missing::Missing;
use super::payload::expand;
use super::reader::{defect, not_an_event, unreadable};
use super::sequence::{Seen, Sequence};
use super::{DefectKind, LogMark, PayloadSource};
use crate::StoredSession;

pub(crate) use events::Taken;

/// Folds the events of a log into the state of its session.
///
/// Every line stands for itself: what cannot be read is skipped and reported, and everything else
/// counts. Only the lines that change the state are decoded in full, and only their payloads are read.
pub struct LogFold {
    state: StoredSession,
    payloads: Option<Arc<dyn PayloadSource>>,
    sequence: Sequence,
    missing: Missing,
    /// Position of the event that is being taken.
    seq: u64,
    /// Whether it stands behind events that came after it.
    late: bool,
    /// Position of the last event that took messages away.
    restated_at: u64,
    /// Whether the last late message was gone already.
    passed_over: bool,
    /// How many messages were put before others.
    inserted: usize,
    /// Whether the history is not, letter by letter, the one that the heads in the log stand for.
    altered: bool,
    tail: Tail,
    offset: u64,
    events: u64,
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// With a whole line, or it is empty.
    Clean,
    /// With a whole event whose line break is missing.
    Unended,
    /// With a piece of a line that begins at byte `at`.
    Torn {
        /// Where the piece begins, in bytes.
        at: u64,
    },
}

impl LogFold {
    /// Folds the whole log of the session `id`.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self::resume(StoredSession::new(id))
    }

    /// Goes on from `state`: the log is read from the byte `state.mark.offset` on.
    #[must_use]
    pub fn resume(state: StoredSession) -> Self {
        let LogMark { seq, offset } = state.mark;
        Self {
            state,
            payloads: None,
            sequence: Sequence::after(seq),
            missing: Missing::default(),
            seq: 0,
            late: false,
            restated_at: 0,
            passed_over: false,
            inserted: 0,
            altered: false,
            tail: Tail::Clean,
            offset,
            events: 0,
        }
    }

    /// Takes large fields from `payloads`. Without them, events that need such a field are lost.
    #[must_use]
    pub fn with_payloads(mut self, payloads: Arc<dyn PayloadSource>) -> Self {
        self.payloads = Some(payloads);
        self
    }

    /// Reads the log, or the rest of it.
    ///
    /// # Errors
    ///
    /// Only when `reader` fails; whatever it delivers is accepted.
    pub fn read(&mut self, reader: impl Read) -> io::Result<()> {
        let mut lines = Lines::new(reader, self.offset);
        while let Some(line) = lines.next()? {
            self.take(&line);
        }
        Ok(())
    }

    /// How the log ends.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// How many events of this session were read.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The state after everything read.
    #[must_use]
    pub fn finish(mut self) -> StoredSession {
        self.state.mark = LogMark { seq: self.sequence.last(), offset: self.offset };
        self.state.has_gaps |= self.missing.shifts();
        self.state
    }

    fn take(&mut self, line: &Line<'_>) {
        self.offset = line.place.offset + line.place.length;
        self.tail = if line.ended { Tail::Clean } else { Tail::Unended };
        if line.text.is_empty() {
            if let Some(defect) = unreadable(line) {
                self.state.defects.push(defect);
            }
            return;
        }
        let outcome = serde_json::from_slice::<Envelope<'_>>(line.text).and_then(|envelope| {
            self.admit(line, &envelope).map_or(Ok(()), |()| self.apply_whole(line, &envelope))
        });
        if let Err(error) = outcome {
            if !line.ended {
                self.tail = Tail::Torn { at: line.place.offset };
            }
            self.state.defects.push(not_an_event(line, &error));
        }
    }

    /// Lets an event through unless it is another session's or was there before.
    fn admit(&mut self, line: &Line<'_>, envelope: &Envelope<'_>) -> Option<()> {
        if envelope.session_id != self.state.id.as_str() {
            let detail = format!("an event of session {}", envelope.session_id);
            self.state.defects.push(defect(line, DefectKind::Foreign, detail));
            return None;
        }
        (self.seq, self.late) = (envelope.seq, envelope.seq < self.sequence.last());
        match self.sequence.see(envelope.seq) {
            Seen::New => {}
            Seen::Before => {
                let detail = format!("event {} a second time", envelope.seq);
                self.state.defects.push(defect(line, DefectKind::Duplicate, detail));
                return None;
            }
            Seen::Impossible => {
                // The number is damaged; what the line says is not.
                let detail = format!("an event with the impossible number {}", envelope.seq);
                self.state.defects.push(defect(line, DefectKind::OutOfPlace, detail));
                (self.seq, self.late) = (self.sequence.last(), true);
            }
        }
        self.passed_over &= self.late;
        if line.zeros > 0 {
            let detail = format!("{} zero bytes around an event", line.zeros);
            self.state.defects.push(defect(line, DefectKind::ZeroBlock, detail));
        }
        self.events += 1;
        if self.events == 1 && self.state.mark.seq == 0 {
            self.state.created_at = envelope.timestamp;
        }
        self.state.updated_at = envelope.timestamp.max(self.state.updated_at);
        self.state.turn = self.state.turn.max(envelope.turn);
        Some(())
    }

    /// Applies an event after putting the payloads in their place that the state needs.
    fn apply_whole(&mut self, line: &Line<'_>, envelope: &Envelope<'_>) -> serde_json::Result<()> {
        let Some(payloads) = self.payloads.clone().filter(|_| envelope.tells_state()) else {
            return self.apply(line, envelope);
        };
        let StoredSession { id, defects, .. } = &mut self.state;
        let mut lost = false;
        let expanded = expand(line.text, id, &*payloads, |error| {
            defects.push(defect(line, DefectKind::Payload, error.to_string()));
            lost = true;
        });
        self.altered |= lost;
        let Some(text) = expanded else { return self.apply(line, envelope) };
        let line = Line { text: &text, ..*line };
        match serde_json::from_slice(&text).and_then(|envelope| self.apply(&line, &envelope)) {
            // What is wrong has been said; the history misses the line where the next one builds on it.
            Err(_) if lost => Ok(()),
            outcome => outcome,
        }
    }

    fn apply(&mut self, line: &Line<'_>, envelope: &Envelope<'_>) -> serde_json::Result<()> {
        match envelope.event.as_ref() {
            "session_init" => {
                let init: Init = serde_json::from_slice(line.text)?;
                self.state.cwd = init.cwd;
                self.state.name = init.name;
                self.state.forked_from = init.forked_from;
                self.state.system_prompt = Some(init.system_prompt);
                self.state.tool_schemas = Some(init.tool_schemas);
            }
            "session_resume" => {
                let resume: Resume = serde_json::from_slice(line.text)?;
                self.state.system_prompt = resume.system_prompt.or(self.state.system_prompt.take());
                self.state.tool_schemas = resume.tool_schemas.or(self.state.tool_schemas.take());
                self.rebase(line);
            }
            "session_name" => self.state.name = serde_json::from_slice::<Name>(line.text)?.name,
            "tool_execution_request" => {
                self.state.started_calls.insert(serde_json::from_slice::<Started>(line.text)?.tool_call_id);
            }
            "pre_run" | "provider_request" | "assistant" | "interrupted" | "complete" => {
                // One without a reference is of another format, and promises nothing.
                if let Ok(refers) = serde_json::from_slice::<Refers>(line.text) {
                    self.expect(line, refers.history.length);
                }
                self.rebase(line);
            }
            "provider_response_normalized" | "compact_summary" => {
                // What one of another format has used, nobody knows.
                if let Ok(used) = serde_json::from_slice::<Used>(line.text) {
                    self.state.usage += used.usage;
                }
            }
            "history_mutation" => {
                let mutation = decode_mutation(line.text, envelope)?;
                self.altered |= envelope.redacted;
                self.change_history(line, mutation);
            }
            _ => {}
        }
        Ok(())
    }

    /// Where secrets were taken out of the history or pieces of it are lost, it is known by the head that
    /// it had before: what later lines build on.
    fn rebase(&mut self, line: &Line<'_>) {
        if !self.altered {
            return;
        }
        if let Ok(refers) = serde_json::from_slice::<RefersTo>(line.text) {
            self.state.history.rebase(refers.history.head);
        }
    }
}

/// Decodes a mutation; the common one from what the envelope has found already, without the detour that
/// tagged enums take.
fn decode_mutation(line: &[u8], envelope: &Envelope<'_>) -> serde_json::Result<HistoryMutation> {
    let Envelope { mutation, index, message, .. } = envelope;
    match (mutation.map(RawValue::get), index, message) {
        (Some(r#""append_message""#), Some(index), Some(message)) => {
            let (index, message) = (serde_json::from_str(index.get())?, serde_json::from_str(message.get())?);
            Ok(HistoryMutation::AppendMessage { index, message })
        }
        _ => serde_json::from_slice(line),
    }
}

/// What every line has, and where the parts of a history mutation stand: a line is gone through once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    seq: u64,
    timestamp: Timestamp,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(default)]
    turn: u32,
    #[serde(default)]
    redacted: bool,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    mutation: Option<&'a RawValue>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Whether the state holds what stands in large fields of such an event.
    fn tells_state(&self) -> bool {
        matches!(self.event.as_ref(), "session_init" | "session_resume" | "session_name" | "history_mutation")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Init {
    cwd: PathBuf,
    #[serde(default)]
    name: Option<String>,
    system_prompt: Arc<str>,
    #[serde(default)]
    tool_schemas: Vec<Value>,
    #[serde(default)]
    forked_from: Option<SessionId>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    #[serde(default)]
    system_prompt: Option<Arc<str>>,
    #[serde(default)]
    tool_schemas: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Used {
    usage: Usage,
}

#[derive(Deserialize)]
struct Refers {
    history: Length,
}

#[derive(Deserialize)]
struct Length {
    length: usize,
}

#[derive(Deserialize)]
struct RefersTo {
    history: Head,
}

#[derive(Deserialize)]
struct Head {
    head: HistoryHead,
}

#[derive(Deserialize)]
struct Name {
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    tool_call_id: String,
}
