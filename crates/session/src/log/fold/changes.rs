//! The changes of the history, put where they belong whatever became of the lines around them.

use robota_core::{History, HistoryMutation, MessageRef};

use super::LogFold;
use crate::log::DefectKind;
use crate::log::lines::Line;
use crate::log::reader::defect;

/// No log counts more messages than this. A higher number is damage, and believed nowhere.
const MOST_MESSAGES: usize = 1 << 31;
/// So many messages are put into the midst of a history, each at the cost of a copy; more are appended.
const MOST_INSERTED: usize = 1000;

impl LogFold {
    pub(super) fn change_history(&mut self, line: &Line<'_>, mutation: HistoryMutation) {
        match mutation {
            HistoryMutation::AppendMessage { index, message } => self.append(line, index, message),
            HistoryMutation::Truncate { .. } | HistoryMutation::Replace { .. } | HistoryMutation::Clear
                if self.late =>
            {
                // It would take away what came after it.
                let detail = "a change that takes messages away, behind lines that came after it";
                self.state.defects.push(defect(line, DefectKind::OutOfPlace, detail.to_owned()));
            }
            HistoryMutation::Truncate { length } => {
                self.restated();
                let length = self.missing.truncate(length);
                self.replay(line, &HistoryMutation::Truncate { length });
            }
            mutation => {
                if matches!(mutation, HistoryMutation::Replace { .. } | HistoryMutation::Clear) {
                    self.restated();
                    self.missing.clear();
                    self.state.has_gaps = false;
                }
                self.replay(line, &mutation);
            }
        }
    }

    /// The log says that `length` messages come before this line. Those that no line held are missing, until
    /// a later line tells that they never were.
    pub(super) fn expect(&mut self, line: &Line<'_>, length: usize) {
        let (held, told) = (self.held(), self.told());
        if length > MOST_MESSAGES {
            let detail = format!("{length} messages before this line, where {told} are known");
            self.state.defects.push(defect(line, DefectKind::OutOfPlace, detail));
        } else if length > told {
            self.note_missing(line, length);
        } else if length >= held && !self.late {
            self.missing.lower(held, length);
        }
    }

    /// How many messages the log counts so far.
    pub(super) fn told(&self) -> usize {
        self.missing.told(self.held())
    }

    fn held(&self) -> usize {
        self.state.history.messages().len()
    }

    /// A message that can be read is kept, wherever the numbers around it say it stands. Where lines before
    /// it are lost, it moves up.
    fn append(&mut self, line: &Line<'_>, index: usize, message: MessageRef) {
        let told = self.told();
        let mut place = self.held();
        if index > MOST_MESSAGES {
            self.out_of_place(line, index, told);
        } else if index != told && self.is_gone(index) {
            self.passed_over = true;
            let detail = format!("message {index} stands behind a later line that took it away");
            self.state.defects.push(defect(line, DefectKind::OutOfPlace, detail));
            return;
        } else if index > told {
            self.note_missing(line, index);
        } else if index < told {
            let there = self.state.history.messages().get(self.missing.place(index));
            if !self.missing.holds(index) && there.is_some_and(|there| there.id == message.id) {
                let detail = format!("message {index} a second time");
                self.state.defects.push(defect(line, DefectKind::Duplicate, detail));
                return;
            }
            if self.late {
                self.out_of_place(line, index, told);
                place = place.min(self.missing.place(index));
                self.missing.fill(index);
            } else {
                // What a line comes after is behind it: a number before this one is wrong, or this one is.
                self.missing.lower(place, index);
                if self.missing.is_empty() && self.missing.shifts() {
                    self.out_of_place(line, index, told);
                }
            }
        }
        if let Some(call) = message.answers() {
            self.state.started_calls.remove(call);
        }
        let end = self.held();
        self.replay(line, &HistoryMutation::AppendMessage { index: end, message });
        if place < end && self.inserted < MOST_INSERTED {
            self.inserted += 1;
            move_last_to(&mut self.state.history, place);
        }
    }

    /// Whether a later line that stands before this one has taken message `index` away. Of several such
    /// messages in a row only the first: it is more likely then that the number of that line is wrong.
    fn is_gone(&self, index: usize) -> bool {
        self.late && self.seq < self.restated_at && !self.passed_over && !self.missing.holds(index)
    }

    fn note_missing(&mut self, line: &Line<'_>, length: usize) {
        let Some(lost) = self.missing.raise(self.held(), length) else { return };
        let detail = match lost.len() {
            1 => format!("message {} is missing before this line", lost.start),
            _ => format!("messages {} to {} are missing before this line", lost.start, lost.end - 1),
        };
        self.state.defects.push(defect(line, DefectKind::MissingMessages, detail));
    }

    fn out_of_place(&mut self, line: &Line<'_>, index: usize, told: usize) {
        let detail = format!("a message for position {index}, where {told} comes next");
        self.state.defects.push(defect(line, DefectKind::OutOfPlace, detail));
    }

    /// What earlier lines still to come would add is gone.
    fn restated(&mut self) {
        self.restated_at = self.restated_at.max(self.seq);
    }

    fn replay(&mut self, line: &Line<'_>, mutation: &HistoryMutation) {
        if let Err(error) = self.state.history.apply(mutation) {
            self.state.defects.push(defect(line, DefectKind::OutOfPlace, error.to_string()));
        }
    }
}

/// Moves the message that was appended last to `place`, in both views.
fn move_last_to(history: &mut History, place: usize) {
    let mut messages = history.messages().to_vec();
    let mut entries = history.entries().to_vec();
    let Some(before) = messages.get(place) else { return };
    let shown = entries.iter().rposition(|entry| entry.id == before.id);
    if let Some(rest) = messages.get_mut(place..) {
        rest.rotate_right(1);
    }
    if let Some(rest) = shown.and_then(|at| entries.get_mut(at..)) {
        rest.rotate_right(1);
    }
    let counted = history.counted_tokens();
    let moved = History::restored(messages, entries, history.reference().head, history.message_bytes());
    let moved = moved.with_calibration(history.calibration());
    *history = match counted {
        Some((tokens, since)) => moved.with_counted_tokens(tokens, since),
        None => moved,
    };
}
