//! Consecutive deltas that are logged as one.

use std::time::Duration;

use robota_core::{Event, EventKind, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::LineFilter;

/// How long a text delta may wait for more text to share its line with.
const JOIN_FOR: Duration = Duration::from_millis(50);
/// How much text one line of joined deltas holds at most; short enough to stand in the line.
const JOIN_UP_TO: usize = 16 * 1024;
/// How much of a text stays back where it has to be cut although it may be the beginning of a secret, in
/// bytes. A longer secret that comes in pieces is not found.
const HOLD_BACK: usize = 512;

/// Consecutive deltas of one kind, to be logged as one.
///
/// A filter goes over one line at a time, so with a filter no line ends with what may begin a secret: that
/// waits for more text ([`LineFilter`]).
pub(super) struct Joined {
    /// Of the last delta, so that every line says how far the log has come.
    pub(super) seq: u64,
    /// Of the delta before the last: free for a line of its own.
    seq_before: Option<u64>,
    /// Of the first delta.
    timestamp: Timestamp,
    turn: u32,
    thinking: bool,
    text: String,
    /// Whether secrets were taken out of the text.
    redacted: bool,
    /// When it must become a line; `None` while all of it is held back.
    due: Option<Instant>,
}

/// What becomes a line.
pub(super) struct Piece {
    pub(super) event: Event,
    /// Whether secrets were taken out of it already.
    pub(super) redacted: bool,
}

impl Joined {
    /// The text that begins with the delta of `event`.
    pub(super) fn new(event: &Event, thinking: bool, delta: &str) -> Self {
        Self {
            seq: event.seq,
            seq_before: None,
            timestamp: event.timestamp,
            turn: event.turn,
            thinking,
            text: delta.to_owned(),
            redacted: false,
            due: Some(Instant::now() + JOIN_FOR),
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether the next delta, that of `event`, belongs to the same text.
    pub(super) fn goes_on(&self, event: &Event, thinking: bool) -> bool {
        self.thinking == thinking && self.turn == event.turn
    }

    pub(super) fn has_room(&self, delta: &str) -> bool {
        self.text.len() + delta.len() <= JOIN_UP_TO
    }

    /// Adds the delta of `event`. True when the text has become due by it.
    pub(super) fn push(&mut self, event: &Event, delta: &str) -> bool {
        self.seq_before = Some(self.seq);
        self.seq = event.seq;
        self.text.push_str(delta);
        let waited = self.due.is_none();
        self.due.get_or_insert_with(|| Instant::now() + JOIN_FOR);
        waited
    }

    /// All of it.
    pub(super) fn into_piece(mut self, session: &SessionId) -> Piece {
        self.cut(session, self.text.len(), self.seq)
    }

    /// What of it can be a line now, and leaves the rest held back until more comes. Where both need a
    /// number and there is only one, the rest takes the one after `last_seq`, which is then used up.
    pub(super) fn take_settled(
        &mut self,
        session: &SessionId,
        filter: &LineFilter,
        last_seq: &mut u64,
    ) -> Option<Piece> {
        let end = self.settled_end(filter);
        self.due = None;
        if end == 0 {
            return None;
        }
        let seq = if end == self.text.len() { self.seq } else { self.seq_of_part(last_seq) };
        Some(self.cut(session, end, seq))
    }

    /// The same where there is no room for the delta of `event`, which brings a number of its own and is
    /// added then.
    pub(super) fn make_room(
        &mut self,
        session: &SessionId,
        filter: &LineFilter,
        event: &Event,
        delta: &str,
    ) -> Option<Piece> {
        let end = self.settled_end(filter);
        let piece = (end > 0).then(|| self.cut(session, end, self.seq));
        self.push(event, delta);
        self.seq_before = self.seq_before.filter(|_| piece.is_none());
        piece
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn seq_of_part(&mut self, last_seq: &mut u64) -> u64 {
        self.seq_before.take().unwrap_or_else(|| {
            *last_seq = last_seq.saturating_add(1);
            std::mem::replace(&mut self.seq, *last_seq)
        })
    }

    /// How much of the text cannot be a part of a secret whose rest is still to come, in bytes.
    fn settled_end(&mut self, filter: &LineFilter) -> usize {
        if let Some(settled) = filter.settled(&self.text) {
            return settled;
        }
        // What is longer than may wait is cut, but no secret that has come to its end within it.
        if let Some(text) = filtered(&self.text, filter) {
            self.text = text;
            self.redacted = true;
        }
        let mut end = self.text.len().saturating_sub(HOLD_BACK);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        end
    }

    /// The first `end` bytes as a line with the number `seq`.
    fn cut(&mut self, session: &SessionId, end: usize, seq: u64) -> Piece {
        let rest = self.text.split_off(end);
        let delta = std::mem::replace(&mut self.text, rest);
        let kind =
            if self.thinking { EventKind::ThinkingDelta { delta } } else { EventKind::TextDelta { delta } };
        let (session_id, timestamp, turn) = (session.clone(), self.timestamp, self.turn);
        let event = Event { seq, timestamp, session_id, turn, redacted: false, kind };
        Piece { event, redacted: self.redacted }
    }
}

/// `text` as `filter` leaves it in a line; `None` when it changes nothing.
fn filtered(text: &str, filter: &LineFilter) -> Option<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        delta: &'a str,
    }
    #[derive(Deserialize)]
    struct Filtered {
        delta: String,
    }
    let mut line = serde_json::to_vec(&Line { delta: text }).ok()?;
    if !filter.apply(&mut line) {
        return None;
    }
    Some(serde_json::from_slice::<Filtered>(&line).ok()?.delta)
}
