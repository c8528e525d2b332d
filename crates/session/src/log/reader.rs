//! The events of a log, for whoever wants to see them all.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use robota_core::{Event, SessionId};
use serde::de::IgnoredAny;

use super::lines::{Line, Lines};
use super::payload::{expand, has_references};
use super::{Defect, DefectKind, PayloadSource};

/// Reads a log event by event, and says what it had to skip. Needs no lock.
///
/// Without [payloads](LogReader::with_payloads), large fields come as the references that stand for them in
/// the log; an event that cannot have one there is of kind `Unknown`.
pub struct LogReader<R> {
    lines: Lines<R>,
    payloads: Option<(SessionId, Arc<dyn PayloadSource>)>,
    /// Pieces of the line read last.
    waiting: VecDeque<LogItem>,
    /// The number of that line.
    line: Option<u64>,
}

/// A piece of a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogItem {
    /// An event; its kind is `Unknown` when this version does not know it.
    Event(Box<Event>),
    /// Something that is no event.
    Defect(Defect),
}

impl<R: Read> LogReader<R> {
    /// The log in `reader`.
    #[must_use]
    pub fn new(reader: R) -> Self {
        Self { lines: Lines::new(reader, 0), payloads: None, waiting: VecDeque::new(), line: None }
    }

    /// The same log, of `session`, with the payloads of `source` in their place. Of one that is missing, or
    /// not what it was, a text says so in its place; the defect comes before the event.
    #[must_use]
    pub fn with_payloads(mut self, session: SessionId, source: Arc<dyn PayloadSource>) -> Self {
        self.payloads = Some((session, source));
        self
    }

    /// The line that the last item came from, counted from 1; `None` before the first.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = io::Result<LogItem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return Some(Ok(item));
            }
            let line = match self.lines.next() {
                Ok(line) => line?,
                Err(error) => return Some(Err(error)),
            };
            self.line = line.place.line;
            take(&line, self.payloads.as_ref(), &mut self.waiting);
        }
    }
}

fn take(
    line: &Line<'_>,
    payloads: Option<&(SessionId, Arc<dyn PayloadSource>)>,
    items: &mut VecDeque<LogItem>,
) {
    if line.text.is_empty() {
        items.extend(unreadable(line).map(LogItem::Defect));
        return;
    }
    let expanded = payloads.and_then(|(session, source)| {
        expand(line.text, session, &**source, |error| {
            items.push_back(LogItem::Defect(defect(line, DefectKind::Payload, error.to_string())));
        })
    });
    match serde_json::from_slice(expanded.as_deref().unwrap_or(line.text)) {
        Ok(event) => items.push_back(LogItem::Event(Box::new(event))),
        // What is wrong with its payloads has been said.
        Err(_) if !items.is_empty() => {}
        Err(error) => items.push_back(LogItem::Defect(not_an_event(line, &error))),
    }
}

/// What is wrong with a line without text; `None` for an empty one.
pub(super) fn unreadable(line: &Line<'_>) -> Option<Defect> {
    let (kind, detail) = if line.oversized {
        (DefectKind::Oversized, "a line too long to be an event".to_owned())
    } else if line.zeros > 0 {
        (DefectKind::ZeroBlock, format!("{} zero bytes", line.zeros))
    } else {
        return None;
    };
    Some(defect(line, kind, detail))
}

/// What is wrong with a line whose text does not decode.
pub(super) fn not_an_event(line: &Line<'_>, error: &serde_json::Error) -> Defect {
    let is_json = || serde_json::from_slice::<IgnoredAny>(line.text).is_ok();
    if line.ended && has_references(line.text) && is_json() {
        defect(line, DefectKind::Payload, format!("not an event without its payloads: {error}"))
    } else if line.ended {
        defect(line, DefectKind::Garbage, format!("not an event: {error}"))
    } else {
        defect(line, DefectKind::TornTail, "the last line is cut".to_owned())
    }
}

pub(super) fn defect(line: &Line<'_>, kind: DefectKind, detail: String) -> Defect {
    let super::lines::Place { line: number, offset, length } = line.place;
    Defect { kind, line: number, offset, length, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intact_events_come_through_and_the_rest_is_named() {
        let good = r#"{"seq":1,"timestamp":"2026-11-21T22:48:00.000Z","sessionId":"s","turn":1,"event":"user","content":"hi"}"#;
        let newer = r#"{"seq":2,"timestamp":"2026-11-21T22:48:00.000Z","sessionId":"s","turn":1,"event":"mood","level":3}"#;
        let log = format!("{good}\n\nnonsense\n\0\0\0\n\0{newer}\n{{\"seq\":3,");
        let mut told = Vec::new();
        for item in LogReader::new(log.as_bytes()) {
            told.push(match item.unwrap() {
                LogItem::Event(event) => format!("event {}", event.seq),
                LogItem::Defect(defect) => format!("{:?} in line {}", defect.kind, defect.line.unwrap()),
            });
        }
        let expected =
            ["event 1", "Garbage in line 3", "ZeroBlock in line 4", "event 2", "TornTail in line 6"];
        assert_eq!(told, expected);
    }
}
