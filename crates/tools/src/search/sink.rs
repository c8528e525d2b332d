//! What a search finds in one file, as lines for the model.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use tokio_util::sync::CancellationToken;

/// Bytes of a line that is shown whole, and characters shown of a longer one.
const MAX_LINE: usize = 500;
/// Characters shown before a match that lies far into a line.
const LEAD: usize = 100;
/// The most bytes of one character.
const CHAR: usize = 4;

/// Lines of one file.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    /// Output lines without the path: `:12:text`, `-13-text`, or `--`.
    pub(super) lines: Vec<String>,
    /// Matching lines; matches, when they may span lines.
    pub(super) matches: u64,
    /// The search ended at its limit.
    pub(super) cut: bool,
    /// From where on the file is binary, in bytes.
    pub(super) binary_from: Option<u64>,
}

/// Collects hits up to `limit` lines.
pub(super) struct Collector<'a> {
    pub(super) matcher: &'a RegexMatcher,
    /// Most lines to collect; 0 collects none and only counts.
    pub(super) limit: usize,
    /// Stop at the first match.
    pub(super) first_only: bool,
    /// Begin lines with their number.
    pub(super) numbers: bool,
    pub(super) stop: &'a CancellationToken,
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
        let line = if self.numbers { format!("{mark}{number}{mark}{text}") } else { format!("{mark}{text}") };
        self.hits.lines.push(line);
        true
    }

    /// The line, or the part around its match when it is long.
    fn shown(&self, line: &[u8], is_match: bool) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_LINE {
            return String::from_utf8_lossy(line).into_owned();
        }
        let found = if is_match { self.matcher.find(line).ok().flatten() } else { None };
        let from = found.map_or(0, |found| lead_of(line, found.start()));
        let window = line.get(from..line.len().min(from + MAX_LINE * CHAR + CHAR)).unwrap_or_default();
        let text = String::from_utf8_lossy(window);
        let mut rest = text.chars();
        let kept: String = rest.by_ref().take(MAX_LINE).collect();
        let start = if from > 0 { "[…] " } else { "" };
        let end = if rest.next().is_some() { " […]" } else { "" };
        format!("{start}{kept}{end}")
    }

    /// How often the lines of `found` match, where matches may span lines.
    fn count(&self, found: &SinkMatch<'_>) -> u64 {
        let range = found.bytes_range_in_buffer();
        let text = found.buffer().get(..range.end).unwrap_or_default();
        let mut count = 0;
        let counted = self.matcher.find_iter_at(text, range.start, |_| {
            count += 1;
            true
        });
        counted.map_or(1, |()| count.max(1))
    }
}

/// Where the part of `line` begins that is shown for a match at `at`.
fn lead_of(line: &[u8], at: usize) -> usize {
    let far = at.saturating_sub(LEAD * CHAR);
    let before = line.get(far..at).unwrap_or_default();
    let is_start = |byte: u8| byte & 0b1100_0000 != 0b1000_0000;
    let starts = before.iter().enumerate().rev().filter(|(_, byte)| is_start(**byte));
    starts.map(|(start, _)| far + start).nth(LEAD - 1).unwrap_or(if before.len() < LEAD { 0 } else { far })
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.stop.is_cancelled() {
            return Ok(false);
        }
        if self.limit == 0 {
            self.hits.matches += if searcher.multi_line_with_matcher(self.matcher) && !self.first_only {
                self.count(found)
            } else {
                1
            };
            return Ok(!self.first_only);
        }
        for (number, line) in (found.line_number().unwrap_or(0)..).zip(found.lines()) {
            self.hits.matches += 1;
            if !self.push(':', number, line, true) {
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

    fn finish(&mut self, searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if self.hits.lines.last().is_some_and(|line| line == "--") {
            self.hits.lines.pop();
        }
        self.hits.binary_from = end.binary_byte_offset();
        if let Some(from) = self.hits.binary_from
            && !self.hits.lines.is_empty()
        {
            if searcher.binary_detection().quit_byte().is_none() {
                // What its lines hold says nothing to the model.
                self.hits.lines.clear();
            }
            self.hits.lines.push(format!(": [binary from byte {from} on: lines of that part are not shown]"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_before_a_match_is_counted_in_characters() {
        assert_eq!(lead_of(b"short", 3), 0);
        assert_eq!(lead_of(&[b'a'; 1_000], 600), 500);
        let wide = "\u{e4}".repeat(500);
        assert_eq!(lead_of(wide.as_bytes(), 600), 400);
        assert_eq!(lead_of(&[0x80; 1_000], 900), 500);
    }
}
