//! What a search finds in one file, as lines for the model.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 500;
/// Characters shown before a match that lies far into a line.
const LEAD_CHARS: usize = 100;

/// Lines of one file.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    /// Output lines without the path: `:12:text`, `-13-text`, or `--`.
    pub(super) lines: Vec<String>,
    /// Matching lines.
    pub(super) matches: u64,
    /// The search ended at its limit.
    pub(super) cut: bool,
}

/// Collects hits up to `limit` lines; a binary file leaves none.
pub(super) struct Collector<'m> {
    pub(super) matcher: &'m RegexMatcher,
    /// Most lines to collect; 0 collects none and only counts.
    pub(super) limit: usize,
    /// Stop at the first match.
    pub(super) first_only: bool,
    pub(super) hits: FileHits,
}

impl Collector<'_> {
    /// Adds a line; false when there is no room for it.
    fn push(&mut self, mark: char, number: u64, line: &[u8], is_match: bool) -> bool {
        if self.hits.lines.len() >= self.limit {
            self.hits.cut = true;
            return false;
        }
        let text = self.shown(line, is_match);
        self.hits.lines.push(format!("{mark}{number}{mark}{text}"));
        true
    }

    /// The line, or the part around its match when it is long.
    fn shown(&self, line: &[u8], is_match: bool) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_LINE_CHARS {
            return String::from_utf8_lossy(line).into_owned();
        }
        let found = if is_match { self.matcher.find(line).ok().flatten() } else { None };
        let before = line.get(..found.map_or(0, |found| found.start())).unwrap_or_default();
        let skipped = String::from_utf8_lossy(before).chars().count().saturating_sub(LEAD_CHARS);
        let text = String::from_utf8_lossy(line);
        let mut rest = text.chars().skip(skipped);
        let kept: String = rest.by_ref().take(MAX_LINE_CHARS).collect();
        let start = if skipped > 0 { "[…] " } else { "" };
        let end = if rest.next().is_some() { " […]" } else { "" };
        format!("{start}{kept}{end}")
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        for (number, line) in (found.line_number().unwrap_or(0)..).zip(found.lines()) {
            self.hits.matches += 1;
            if self.limit > 0 && !self.push(':', number, line, true) {
                return Ok(false);
            }
        }
        Ok(!self.first_only)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or(0);
        Ok(self.limit == 0 || self.push('-', number, context.bytes(), false))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.limit > 0 && !self.hits.cut {
            self.hits.lines.push("--".to_owned());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            self.hits = FileHits::default();
        }
        if self.hits.lines.last().is_some_and(|line| line == "--") {
            self.hits.lines.pop();
        }
        Ok(())
    }
}
