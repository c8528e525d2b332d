//! What has happened and is not written yet.

use std::io;

use robota_core::{Event, EventKind, SessionId};
use serde::Serialize;
use tokio::time::Instant;

use super::joined::{Joined, Piece};
use super::payload::extract;
use super::{LineFilter, LogMark, Payload, redaction};

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

    /// When the joined text must become a line; `None` when there is none, or all of it is held back.
    pub(super) fn due(&self) -> Option<Instant> {
        self.joined.as_ref().and_then(Joined::due)
    }

    /// Turns joined text into a line, but for what a filter must see together with what comes next.
    /// `last_seq` is the number of the last event; one more may be used up.
    pub(super) fn settle_words(&mut self, last_seq: &mut u64) {
        let (Some(joined), Some(filter)) = (&mut self.joined, &self.filter) else {
            self.end_joined();
            return;
        };
        let piece = joined.take_settled(&self.session, filter, last_seq);
        self.joined.take_if(|joined| joined.is_empty());
        self.encode_piece(piece);
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
        let Some(joined) = self.joined.as_mut().filter(|joined| joined.goes_on(event, thinking)) else {
            return self.begin_joined(event, thinking, delta);
        };
        if joined.has_room(delta) {
            return joined.push(event, delta);
        }
        let Some(filter) = &self.filter else { return self.begin_joined(event, thinking, delta) };
        let waited = joined.due().is_none();
        let piece = joined.make_room(&self.session, filter, event, delta);
        self.encode_piece(piece);
        waited
    }

    fn begin_joined(&mut self, event: &Event, thinking: bool, delta: &str) -> bool {
        self.end_joined();
        self.joined = Some(Joined::new(event, thinking, delta));
        true
    }

    fn end_joined(&mut self) {
        let piece = self.joined.take().map(|joined| joined.into_piece(&self.session));
        self.encode_piece(piece);
    }

    fn encode_piece(&mut self, piece: Option<Piece>) {
        if let Some(Piece { event, redacted }) = piece {
            self.encode_line(event.seq, &event, redacted);
        }
    }

    pub(super) fn encode(&mut self, seq: u64, event: &impl Serialize) {
        self.encode_line(seq, event, false);
    }

    fn encode_line(&mut self, seq: u64, event: &impl Serialize, redacted: bool) {
        if self.failure.is_some() {
            return;
        }
        let start = self.lines.len();
        let encoded = match &self.filter {
            None => serde_json::to_writer(&mut self.lines, event),
            Some(filter) => serde_json::to_vec(event).map(|mut line| {
                if filter.apply(&mut line) || redacted {
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
    use std::time::Duration;

    use robota_core::{Redactor, Timestamp};

    use super::super::redacting_filter;
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
        let filter = LineFilter::new(|line: &mut Vec<u8>| {
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

    const SECRET: &str = "sk-ant-12345678";

    /// A queue that takes the secret out.
    fn redacting() -> Queue {
        let filter = redacting_filter(Redactor::new([SECRET]));
        Queue::new("s".parse().unwrap(), LogMark::default(), Some(filter))
    }

    /// What stands in the log of `events`, as numbers and texts.
    fn texts(events: &[Event]) -> Vec<(u64, &str)> {
        fn text(kind: &EventKind) -> &str {
            match kind {
                EventKind::TextDelta { delta } | EventKind::ThinkingDelta { delta } => delta,
                _ => "",
            }
        }
        events.iter().map(|event| (event.seq, text(&event.kind))).collect()
    }

    #[test]
    fn a_secret_in_pieces_is_taken_out_wherever_it_is_cut() {
        for said in [format!("It is {SECRET}. Keep it."), format!("{}{SECRET}{0}", "x".repeat(600))] {
            let expected = said.replace(SECRET, "[REDACTED]");
            for cut in 0..=said.len() {
                let (mut queue, mut seq) = (redacting(), 0);
                for delta in [&said[..cut], &said[cut..]] {
                    seq += 1;
                    queue.push(&event(seq, text(delta)));
                    queue.settle_words(&mut seq);
                }
                let logged = lines(&mut queue);
                let logged: Vec<(u64, &str)> = texts(&logged);
                assert_eq!(logged.iter().map(|(_, text)| *text).collect::<String>(), expected, "{cut}");
                assert!(logged.is_sorted_by(|one, next| one.0 < next.0), "{cut}: {logged:?}");
            }
        }
    }

    #[test]
    fn a_secret_letter_by_letter_is_taken_out_at_every_pace_and_at_the_end_of_a_line() {
        let said = format!("{} {SECRET} {}", "y".repeat(16 * 1024 - 8), "z".repeat(2000));
        for pace in [1, 2, 7, usize::MAX] {
            let (mut queue, mut seq) = (redacting(), 0);
            for (count, letter) in said.char_indices() {
                seq += 1;
                queue.push(&event(seq, text(letter.encode_utf8(&mut [0; 4]))));
                if count % pace == 0 {
                    queue.settle_words(&mut seq);
                }
            }
            let logged = lines(&mut queue);
            let logged = texts(&logged);
            let whole: String = logged.iter().map(|(_, text)| *text).collect();
            assert_eq!(whole, said.replace(SECRET, "[REDACTED]"));
            assert!(logged.is_sorted_by(|one, next| one.0 < next.0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn with_a_filter_only_the_last_word_waits_for_more_text_or_another_event() {
        let (mut queue, mut seq) = (redacting(), 1);
        assert!(queue.push(&event(1, text("Take it: sk-ant-"))));
        queue.settle_words(&mut seq);
        assert_eq!((queue.due(), seq), (None, 2), "the last word has taken a number");
        let mut bytes = Vec::new();
        queue.take(&mut bytes);
        let first: Event = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(texts(&[first]), [(1, "Take it: ")]);
        assert!(queue.push(&event(3, text("1234"))), "the writer must set its timer");
        assert_eq!(queue.due(), Some(Instant::now() + Duration::from_millis(50)));
        queue.settle_words(&mut seq);
        assert!(queue.due().is_none() && queue.is_empty());
        queue.push(&event(4, text("5678 ")));
        queue.push(&event(5, EventKind::User { content: "x".into(), steering: false }));
        let logged = lines(&mut queue);
        assert_eq!(texts(&logged), [(4, "[REDACTED] "), (5, "")]);
        assert!(logged[0].redacted);
    }
}
