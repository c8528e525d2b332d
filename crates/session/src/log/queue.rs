//! What has happened and is not written yet.

use std::io;
use std::time::Duration;

use robota_core::{Event, EventKind, SessionId, Timestamp};
use serde::Serialize;
use tokio::time::Instant;

use super::payload::extract;
use super::{LineFilter, LogMark, Payload, redaction};

/// How long a text delta may wait for more text to share its line with.
const JOIN_FOR: Duration = Duration::from_millis(50);
/// How much text one line of joined deltas holds at most; short enough to stand in the line.
const JOIN_UP_TO: usize = 16 * 1024;
/// With more bytes than this waiting for a stuck disk, deltas are no longer logged. Durable events
/// always are; the engine waits for them to be written before every tool call.
const QUEUE_LIMIT: usize = 16 * 1024 * 1024;

/// Lines that wait for the writer, and the text that waits to become a line.
pub(super) struct Queue {
    session: SessionId,
    filter: Option<LineFilter>,
    lines: Vec<u8>,
    /// What stands apart from `lines`; `None` when the writer keeps no payloads.
    payloads: Option<Payloads>,
    joined: Option<Joined>,
    /// Where the log will end once `lines` are written.
    end: LogMark,
    /// An event that could not be encoded. Nothing is taken after it: a log never skips an event.
    failure: Option<io::Error>,
}

/// Payloads that wait for the writer.
#[derive(Default)]
struct Payloads {
    waiting: Vec<Payload>,
    bytes: usize,
}

/// Consecutive deltas of one kind, to be logged as one.
struct Joined {
    /// Of the last delta, so that every line says how far the log has come.
    seq: u64,
    /// Of the first delta.
    timestamp: Timestamp,
    turn: u32,
    thinking: bool,
    text: String,
    due: Instant,
}

impl Queue {
    pub(super) fn new(session: SessionId, end: LogMark, filter: Option<LineFilter>) -> Self {
        Self { session, filter, lines: Vec::new(), payloads: None, joined: None, end, failure: None }
    }

    /// From here on, large fields stand apart from their lines.
    pub(super) fn with_payloads(mut self) -> Self {
        self.payloads = Some(Payloads::default());
        self
    }

    /// Takes an event for the log. True when the writer should know of it.
    pub(super) fn push(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::TextDelta { delta } => self.join(event, false, delta),
            EventKind::ThinkingDelta { delta } => self.join(event, true, delta),
            kind if kind.is_ephemeral() => false,
            _ => {
                self.end_joined();
                self.encode(event.seq, event);
                true
            }
        }
    }

    /// Turns joined text into a line, and says where the log ends after it.
    pub(super) fn settle(&mut self) -> LogMark {
        self.end_joined();
        self.end
    }

    /// When the joined text must become a line; `None` when there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.joined.as_ref().map(|joined| joined.due)
    }

    /// Moves the waiting lines into the empty buffer `lines`, and says where the log ends after them.
    pub(super) fn take(&mut self, lines: &mut Vec<u8>) -> LogMark {
        std::mem::swap(&mut self.lines, lines);
        self.end
    }

    /// The payloads that the waiting lines refer to.
    pub(super) fn take_payloads(&mut self) -> Vec<Payload> {
        self.payloads.as_mut().map(std::mem::take).unwrap_or_default().waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What keeps the queue from taking events; the writer fails with it once all before it is written.
    pub(super) fn failure(&mut self) -> &mut Option<io::Error> {
        &mut self.failure
    }

    /// Forgets everything: nothing can be written any more.
    pub(super) fn discard(&mut self) {
        self.lines = Vec::new();
        self.take_payloads();
        self.joined = None;
    }

    fn join(&mut self, event: &Event, thinking: bool, delta: &str) -> bool {
        let payload_bytes = self.payloads.as_ref().map_or(0, |payloads| payloads.bytes);
        if self.lines.len() + payload_bytes > QUEUE_LIMIT {
            return false;
        }
        match &mut self.joined {
            Some(joined)
                if joined.thinking == thinking
                    && joined.turn == event.turn
                    && joined.text.len() + delta.len() <= JOIN_UP_TO =>
            {
                joined.seq = event.seq;
                joined.text.push_str(delta);
                false
            }
            _ => {
                self.end_joined();
                self.joined = Some(Joined {
                    seq: event.seq,
                    timestamp: event.timestamp,
                    turn: event.turn,
                    thinking,
                    text: delta.to_owned(),
                    due: Instant::now() + JOIN_FOR,
                });
                true
            }
        }
    }

    fn end_joined(&mut self) {
        let Some(joined) = self.joined.take() else { return };
        let delta = joined.text;
        let kind =
            if joined.thinking { EventKind::ThinkingDelta { delta } } else { EventKind::TextDelta { delta } };
        let Joined { seq, timestamp, turn, .. } = joined;
        let event = Event { seq, timestamp, session_id: self.session.clone(), turn, redacted: false, kind };
        self.encode(seq, &event);
    }

    pub(super) fn encode(&mut self, seq: u64, event: &impl Serialize) {
        if self.failure.is_some() {
            return;
        }
        let start = self.lines.len();
        let encoded = match &self.filter {
            None => serde_json::to_writer(&mut self.lines, event),
            Some(filter) => serde_json::to_vec(event).map(|mut line| {
                if filter(&mut line) {
                    redaction::mark(&mut line);
                }
                self.lines.append(&mut line);
            }),
        };
        if let Err(error) = encoded {
            self.lines.truncate(start);
            let told = format!("event {seq} cannot be encoded: {error}");
            self.failure = Some(io::Error::new(io::ErrorKind::InvalidData, told));
            return;
        }
        self.shorten(start);
        self.lines.push(b'\n');
        let length = (self.lines.len() - start) as u64;
        self.end = LogMark { seq, offset: self.end.offset + length };
    }

    /// Takes large fields out of the last line, which begins at `start`.
    fn shorten(&mut self, start: usize) {
        let Some(Payloads { waiting, bytes }) = &mut self.payloads else { return };
        let line = self.lines.get(start..).unwrap_or_default();
        let shortened = extract(line, &self.session, |payload| {
            if !waiting.iter().any(|known| known.sha256 == payload.sha256) {
                *bytes += payload.json.len();
                waiting.push(payload);
            }
        });
        if let Some(mut line) = shortened {
            self.lines.truncate(start);
            self.lines.append(&mut line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn event(seq: u64, kind: EventKind) -> Event {
        let session_id = "s".parse().unwrap();
        Event { seq, timestamp: Timestamp::default(), session_id, turn: 1, redacted: false, kind }
    }

    fn text(delta: &str) -> EventKind {
        EventKind::TextDelta { delta: delta.into() }
    }

    fn lines(queue: &mut Queue) -> Vec<Event> {
        let mut bytes = Vec::new();
        queue.settle();
        queue.take(&mut bytes);
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn consecutive_deltas_share_a_line_that_says_how_far_the_log_has_come() {
        let mut queue = Queue::new("s".parse().unwrap(), LogMark::default(), None);
        assert!(queue.push(&event(1, text("a"))), "the writer must set its timer");
        assert!(!queue.push(&event(2, text("b"))));
        queue.push(&event(3, EventKind::ThinkingDelta { delta: "hm".into() }));
        queue.push(&event(4, EventKind::ToolProgress { tool_call_id: "c".into(), text: "…".into() }));
        queue.push(&event(5, EventKind::User { content: "x".into(), steering: false }));
        let logged = lines(&mut queue);
        assert_eq!(logged.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3, 5]);
        assert!(matches!(&logged[0].kind, EventKind::TextDelta { delta } if delta == "ab"));
        assert_eq!(queue.settle().seq, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn joined_text_is_due_50_ms_after_its_first_delta() {
        let mut queue = Queue::new("s".parse().unwrap(), LogMark::default(), None);
        let begun = Instant::now();
        queue.push(&event(1, text("a")));
        tokio::time::advance(Duration::from_millis(30)).await;
        queue.push(&event(2, text("b")));
        assert_eq!(queue.due(), Some(begun + Duration::from_millis(50)));
    }

    #[test]
    fn the_end_counts_the_bytes_that_leave_the_filter() {
        let filter: LineFilter = Arc::new(|line: &mut Vec<u8>| {
            let text = String::from_utf8(std::mem::take(line)).unwrap();
            *line = text.replace("secret", "[REDACTED]").into_bytes();
            true
        });
        let mut queue = Queue::new("s".parse().unwrap(), LogMark { seq: 7, offset: 100 }, Some(filter));
        queue.push(&event(8, EventKind::User { content: "my secret".into(), steering: false }));
        let end = queue.settle();
        let mut bytes = Vec::new();
        assert_eq!(queue.take(&mut bytes), end);
        assert_eq!(end, LogMark { seq: 8, offset: 100 + bytes.len() as u64 });
        assert!(String::from_utf8(bytes).unwrap().contains("my [REDACTED]"));
    }
}
