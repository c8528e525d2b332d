//! What could not be read, said exactly.

use std::fmt;

use crate::printable::printable;

/// What is wrong with a piece of a log or with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DefectKind {
    /// The last line was cut while it was written; nothing of it was acknowledged.
    TornTail,
    /// Zero bytes, as a file system leaves them after a power cut.
    ZeroBlock,
    /// A line that is no event of this format.
    Garbage,
    /// A line longer than any event, skipped unread.
    Oversized,
    /// An event of another session.
    Foreign,
    /// An event that was there before.
    Duplicate,
    /// Messages that later lines build on, and that no line holds.
    MissingMessages,
    /// A change of the history that does not fit what came before it.
    OutOfPlace,
    /// A part of an event that stands in a payload of its own, which is missing or not what it was. A text
    /// stands in its place where that is possible, else the event is lost.
    Payload,
    /// The snapshot cannot be used; the log replaces it.
    Snapshot,
    /// The log ends before the place the snapshot was taken at; the snapshot replaces it.
    ShortLog,
}

/// One thing that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defect {
    /// What is wrong.
    pub kind: DefectKind,
    /// Number of the line, from 1; `None` when reading began in the middle of the log.
    pub line: Option<u64>,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How many bytes it concerns.
    pub length: u64,
    /// More about it, for a person.
    pub detail: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "byte {} (+{}): {}", self.offset, self.length, printable(&self.detail))
    }
}

/// Everything that could not be read: each thing up to a limit, and how many in all.
///
/// Shows as one line for a person: how many, and the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    listed: Vec<Defect>,
    total: usize,
    of_snapshot: usize,
}

impl Defects {
    /// More than this are counted and not listed, so that a file of another kind costs no memory.
    const LISTED: usize = 1000;

    pub(crate) fn push(&mut self, defect: Defect) {
        tracing::warn!(kind = ?defect.kind, %defect, "skipped a piece of a session");
        self.total += 1;
        self.of_snapshot += usize::from(defect.kind == DefectKind::Snapshot);
        if self.listed.len() < Self::LISTED {
            self.listed.push(defect);
        }
    }

    /// The first thousand, in the order they were met.
    #[must_use]
    pub fn listed(&self) -> &[Defect] {
        &self.listed
    }

    /// How many there are.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    /// How many concern the log, not its snapshot.
    #[must_use]
    pub const fn in_log(&self) -> usize {
        self.total - self.of_snapshot
    }

    /// True when everything could be read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl fmt::Display for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.listed.first(), self.total) {
            (None, _) => f.write_str("everything of the session could be read"),
            (Some(defect), 1) => write!(f, "1 piece of the session could not be used: {defect}"),
            (Some(first), total) => {
                write!(f, "{total} pieces of the session could not be used, the first: {first}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defect(kind: DefectKind, detail: &str) -> Defect {
        Defect { kind, line: Some(3), offset: 20, length: 7, detail: detail.to_owned() }
    }

    #[test]
    fn damage_is_told_in_one_harmless_line() {
        let mut defects = Defects::default();
        assert_eq!(defects.to_string(), "everything of the session could be read");
        defects.push(defect(DefectKind::Foreign, "an event of session \u{1b}[2J\n"));
        let told = "line 3, byte 20 (+7): an event of session \u{fffd}[2J\u{fffd}";
        assert_eq!(defects.to_string(), format!("1 piece of the session could not be used: {told}"));
        defects.push(defect(DefectKind::Snapshot, "broken"));
        let both = format!("2 pieces of the session could not be used, the first: {told}");
        assert_eq!((defects.to_string(), defects.total(), defects.in_log()), (both, 2, 1));
    }
}
