//! Searching one file after the other.

use std::io::{self, Cursor, Read};
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use tokio_util::sync::CancellationToken;

use super::hits::Worth;
use super::reach::Reach;
use super::sink::{Collector, FileHits};
use crate::workspace::Workspace;

/// Memory for one line, or for one file searched across lines.
const HEAP_LIMIT: usize = 64 * 1024 * 1024;
/// What is searched without copying it once more; so much of a file tells whether it is binary.
const BUFFER: usize = 64 * 1024;

/// What a search leaves of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yield {
    /// Whether it matches.
    Presence,
    /// How often it matches.
    Count,
    /// Its lines.
    Lines {
        /// At most so many.
        limit: usize,
        /// So many around a match as well.
        before: usize,
        after: usize,
        /// They begin with their numbers.
        numbers: bool,
    },
}

/// What is the same for every file of a search.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) matcher: RegexMatcher,
    /// Matches may span lines.
    pub(super) across_lines: bool,
    pub(super) wanted: Yield,
    /// Binary files are searched, too: somebody named the file.
    pub(super) binary: bool,
}

impl Plan {
    fn searcher(&self) -> Searcher {
        let binary = if self.binary { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
        let mut settings = SearcherBuilder::new();
        settings
            .binary_detection(binary)
            .line_number(false)
            .multi_line(self.across_lines)
            .heap_limit(Some(HEAP_LIMIT));
        if let Yield::Lines { before, after, numbers, .. } = self.wanted {
            settings.line_number(numbers).before_context(before).after_context(after);
        }
        if !self.across_lines {
            // As in the matcher: `$` stands before CRLF, too.
            settings.line_terminator(LineTerminator::crlf());
        }
        settings.build()
    }
}

/// Searches files, one thread's share of them, in the same memory.
pub(super) struct FileSearch<'a> {
    plan: &'a Plan,
    /// Its own: threads that share one wait for each other.
    matcher: RegexMatcher,
    searcher: Searcher,
    reach: Reach<'a>,
    buffer: Vec<u8>,
    stop: &'a CancellationToken,
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(plan: &'a Plan, workspace: &'a Workspace, stop: &'a CancellationToken) -> Self {
        let (matcher, searcher) = (plan.matcher.clone(), plan.searcher());
        Self { plan, matcher, searcher, reach: Reach::new(workspace), buffer: vec![0; BUFFER], stop }
    }

    /// Searches the file at `path` for what it is still worth.
    ///
    /// # Errors
    ///
    /// When it cannot be read, when a line (or the whole, where matches may span lines) is larger than the memory for
    /// it, or when the search is stopped.
    pub(super) fn search(&mut self, path: &Path, worth: Worth) -> io::Result<FileHits> {
        let (limit, numbers) = match self.plan.wanted {
            Yield::Lines { limit, numbers, .. } if worth != Worth::Presence => (limit, numbers),
            _ => (0, false),
        };
        let mut collector = Collector {
            matcher: &self.matcher,
            limit,
            first_only: limit == 0 && self.plan.wanted != Yield::Count,
            numbers,
            stop: self.stop,
            hits: FileHits::default(),
        };
        let mut file = self.reach.open(path)?;
        let filled = fill(&mut file, &mut self.buffer)?;
        let start = self.buffer.get(..filled).unwrap_or_default();
        if filled < self.buffer.len() {
            self.searcher.search_slice(&self.matcher, start, &mut collector)?;
        } else {
            let whole = Stoppable { file: Cursor::new(start).chain(file), stop: self.stop };
            self.searcher.search_reader(&self.matcher, whole, &mut collector)?;
        }
        Ok(collector.hits)
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A file whose reading ends when the search does.
struct Stoppable<'a, F> {
    file: F,
    stop: &'a CancellationToken,
}

impl<F: Read> Read for Stoppable<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::thread;

    use super::*;
    use crate::search::matcher::{Expression, compile};

    /// Without the stop this would go on for hours.
    #[test]
    fn a_search_stops_in_the_middle_of_a_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = crate::workspace::resolve_links(temp.path()).join("huge");
        let huge = OpenOptions::new().create_new(true).write(true).open(&path).unwrap();
        huge.set_len(1 << 42).unwrap();
        let expression = Expression { pattern: "absent", fixed: false, ignore_case: false, multiline: false };
        let (matcher, across_lines) = compile(expression).unwrap();
        let plan = Plan { matcher, across_lines, wanted: Yield::Count, binary: true };
        let workspace = Workspace::new(temp.path(), [], None);
        let stop = CancellationToken::new();
        thread::scope(|scope| {
            let search = scope
                .spawn(|| FileSearch::new(&plan, &workspace, &stop).search(&path, Worth::Hits).unwrap_err());
            stop.cancel();
            assert_eq!(search.join().unwrap().to_string(), "cancelled");
        });
    }
}
