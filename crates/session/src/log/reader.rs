//! The events of a log, for whoever wants to see them all.

use std::io::{self, Read};

use robota_core::Event;

use super::lines::{Line, Lines};
use super::{Defect, DefectKind};

/// Reads a log event by event, and says what it had to skip. Needs no lock.
pub struct LogReader<R> {
    lines: Lines<R>,
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
        Self { lines: Lines::new(reader, 0) }
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = io::Result<LogItem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next() {
                Ok(line) => line?,
                Err(error) => return Some(Err(error)),
            };
            if let Some(item) = item(&line) {
                return Some(Ok(item));
            }
        }
    }
}

fn item(line: &Line<'_>) -> Option<LogItem> {
    if line.text.is_empty() {
        return unreadable(line).map(LogItem::Defect);
    }
    Some(match serde_json::from_slice(line.text) {
        Ok(event) => LogItem::Event(Box::new(event)),
        Err(error) => LogItem::Defect(not_an_event(line, &error)),
    })
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
    if line.ended {
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
