//! A range of lines of a file, read as a stream: what lies before it is only counted, what lies after it is not
//! looked at.

use std::io::{self, BufRead};

use memchr::{memchr, memchr_iter, memrchr};
use tokio_util::sync::CancellationToken;

use super::shown::{MAX_CHARS, MAX_LINE_CHARS};

/// Bytes kept of a line: room for the longest shown one in any encoding.
const MAX_LINE_BYTES: usize = 4 * (MAX_LINE_CHARS + 1);
/// Bytes of one line that are passed to find its end.
const MAX_LINE_SKIP: u64 = 64 * 1024 * 1024;
/// Bytes between two places that are noted on the way.
const NOTE_EVERY: u64 = 4 * 1024 * 1024;

/// The beginning of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Lines before it.
    pub(super) passed: usize,
    /// Bytes before it.
    pub(super) offset: u64,
}

/// The lines that were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The first one, from 1.
    pub(super) first: usize,
    /// How many at most.
    pub(super) limit: usize,
    /// Bytes that may be passed on the way to the first one.
    pub(super) reach: u64,
}

/// Lines as bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The kept part of all lines, without their ends.
    bytes: Vec<u8>,
    /// Where each ends in `bytes`, and whether it was kept as a whole.
    ends: Vec<(usize, bool)>,
    /// Where the line after them begins, or the file ends.
    pub(super) next: Place,
    /// How looking ended.
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// There are further lines.
    #[default]
    More,
    /// The file ends here.
    OfFile,
    /// The last line goes on for longer than is looked at.
    LongLine,
    /// The first line asked for was not reached within what one call looks through.
    FarAway,
}

impl Lines {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The kept bytes of all, for telling their encoding.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The kept bytes of each, and whether that is all of it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, whole)| {
            let line = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            (line, *whole)
        })
    }

    /// Whether no more can be shown than these, however short their characters are.
    fn is_full(&self) -> bool {
        // A line takes its number, a tab and a line end at least.
        self.bytes.len() / 4 + 3 * self.ends.len() > MAX_CHARS
    }
}

/// Reads the lines of `range` from `reader`, which stands at `from`; fewer when more could not be shown.
/// `note` is told of places on the way, some megabytes apart.
///
/// # Errors
///
/// When reading fails, or, with kind `Interrupted`, when `stop` fires.
pub(super) fn read_lines(
    reader: &mut impl BufRead,
    from: Place,
    range: Range,
    stop: &CancellationToken,
    mut note: impl FnMut(Place),
) -> io::Result<Lines> {
    let mut source = Source { reader, stop, place: from };
    let mut lines = Lines::default();
    let end = source.skip_to(range, &mut note)?;
    lines.next = source.place;
    if let Some(end) = end {
        return Ok(Lines { end, ..lines });
    }
    note(source.place);
    while lines.len() < range.limit && !lines.is_full() {
        match source.keep_line(&mut lines)? {
            Kept::Line => lines.next = source.place,
            Kept::Nothing => break,
            Kept::Endless => {
                lines.next.passed += 1;
                return Ok(Lines { end: End::LongLine, ..lines });
            }
        }
    }
    note(source.place);
    if source.fill()?.is_empty() {
        lines.end = End::OfFile;
    }
    Ok(lines)
}

enum Kept {
    Line,
    Nothing,
    /// The beginning of a line whose end was not found.
    Endless,
}

struct Source<'a, R> {
    reader: &'a mut R,
    stop: &'a CancellationToken,
    place: Place,
}

impl<R: BufRead> Source<'_, R> {
    /// Goes to the beginning of the range; tells why when that cannot be reached.
    fn skip_to(&mut self, range: Range, note: &mut impl FnMut(Place)) -> io::Result<Option<End>> {
        let (mut noted, begin) = (self.place.offset, self.place.offset);
        let mut in_line = false;
        while self.place.passed + 1 < range.first {
            if self.place.offset - begin >= range.reach {
                return Ok(Some(End::FarAway));
            }
            let missing = range.first - 1 - self.place.passed;
            let buffer = self.fill()?;
            if buffer.is_empty() {
                // What follows the last line end is a line, too.
                self.place.passed += usize::from(in_line);
                return Ok(Some(End::OfFile));
            }
            let count = memchr_iter(b'\n', buffer).count();
            if count >= missing {
                let last = memchr_iter(b'\n', buffer).nth(missing - 1);
                let used = last.map_or(buffer.len(), |at| at + 1);
                self.pass(used, missing);
                break;
            }
            let (used, last) = (buffer.len(), memrchr(b'\n', buffer));
            if let Some(last) = last {
                let start =
                    Place { passed: self.place.passed + count, offset: self.place.offset + last as u64 + 1 };
                if start.offset - noted >= NOTE_EVERY {
                    noted = start.offset;
                    note(start);
                }
            }
            in_line = last.is_none_or(|last| last + 1 < used);
            self.pass(used, count);
        }
        Ok(None)
    }

    /// Goes past one line, keeping its beginning.
    fn keep_line(&mut self, lines: &mut Lines) -> io::Result<Kept> {
        let (begin, first_byte) = (lines.bytes.len(), self.place.offset);
        let (mut any, mut whole, mut ended) = (false, true, false);
        while !ended {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                break;
            }
            any = true;
            let newline = memchr(b'\n', buffer);
            let content = buffer.get(..newline.unwrap_or(buffer.len())).unwrap_or_default();
            let room = content.len().min(MAX_LINE_BYTES - (lines.bytes.len() - begin));
            whole &= room == content.len();
            lines.bytes.extend_from_slice(content.get(..room).unwrap_or_default());
            ended = newline.is_some();
            let used = newline.map_or(buffer.len(), |at| at + 1);
            self.pass(used, usize::from(ended));
            if !ended && self.place.offset - first_byte > MAX_LINE_SKIP {
                end_line(lines, begin, false);
                return Ok(Kept::Endless);
            }
        }
        if !any {
            return Ok(Kept::Nothing);
        }
        self.place.passed += usize::from(!ended);
        end_line(lines, begin, whole);
        Ok(Kept::Line)
    }

    fn fill(&mut self) -> io::Result<&[u8]> {
        if self.stop.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.reader.fill_buf()
    }

    fn pass(&mut self, bytes: usize, lines: usize) {
        self.reader.consume(bytes);
        self.place.offset += bytes as u64;
        self.place.passed += lines;
    }
}

/// Closes the line that begins at `begin`; one that was cut ends with a whole character.
fn end_line(lines: &mut Lines, begin: usize, whole: bool) {
    if !whole {
        let line = lines.bytes.get(begin..).unwrap_or_default();
        let lead = line.iter().rev().take(3).position(|byte| *byte >= 0xC0);
        let keep = lead.map_or(line.len(), |back| line.len() - back - 1);
        lines.bytes.truncate(begin + keep);
    }
    lines.ends.push((lines.bytes.len(), whole));
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn read(content: &[u8], from: Place, range: (usize, usize), buffer: usize) -> (Lines, Vec<Place>) {
        let rest = &content[usize::try_from(from.offset).unwrap()..];
        let mut reader = BufReader::with_capacity(buffer, rest);
        let (first, limit) = range;
        let (stop, mut places) = (CancellationToken::new(), Vec::new());
        let lines = read_lines(&mut reader, from, Range { first, limit, reach: 999 }, &stop, |place| {
            places.push(place);
        })
        .unwrap();
        (lines, places)
    }

    fn kept(lines: &Lines) -> Vec<(String, bool)> {
        lines.iter().map(|(line, whole)| (String::from_utf8_lossy(line).into_owned(), whole)).collect()
    }

    #[test]
    fn a_cut_line_ends_with_a_whole_character_and_the_next_line_follows() {
        let content = format!("a{}\nb\n", "é".repeat(10_000));
        let (lines, _) = read(content.as_bytes(), Place::default(), (1, 9), 7);
        let kept = kept(&lines);
        assert_eq!(kept[0], (format!("a{}", "é".repeat(4_001)), false));
        assert_eq!((kept[1].clone(), lines.end), (("b".to_owned(), true), End::OfFile));
    }

    #[test]
    fn a_line_without_end_is_left() {
        /// Zeros, for as long as they are asked for.
        struct Zeros(Vec<u8>);
        impl io::Read for Zeros {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(0);
                Ok(buffer.len())
            }
        }
        impl BufRead for Zeros {
            fn fill_buf(&mut self) -> io::Result<&[u8]> {
                Ok(&self.0)
            }
            fn consume(&mut self, _: usize) {}
        }
        let stop = CancellationToken::new();
        let mut zeros = Zeros(vec![0; 1024 * 1024]);
        let range = Range { first: 1, limit: 5, reach: 10_000_000 };
        let lines = read_lines(&mut zeros, Place::default(), range, &stop, |_| {}).unwrap();
        assert_eq!((lines.len(), lines.end, lines.next), (1, End::LongLine, Place { passed: 1, offset: 0 }));
        let far = Range { first: 2, ..range };
        let lines = read_lines(&mut zeros, Place::default(), far, &stop, |_| {}).unwrap();
        assert_eq!((lines.len(), lines.end), (0, End::FarAway));
        stop.cancel();
        let error = read_lines(&mut zeros, Place::default(), far, &stop, |_| {}).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }

    proptest! {
        #[test]
        fn a_range_is_what_splitting_the_whole_gives(
            content in "[ab\u{e9}\r\n]{0,60}",
            first in 1_usize..12,
            limit in 1_usize..6,
            buffer in 1_usize..9,
        ) {
            let all: Vec<&str> = content.split_inclusive('\n').collect();
            let shown = all.iter().skip(first - 1).take(limit);
            let expected: Vec<_> =
                shown.map(|line| (line.strip_suffix('\n').unwrap_or(line).to_owned(), true)).collect();
            let (lines, places) = read(content.as_bytes(), Place::default(), (first, limit), buffer);
            prop_assert_eq!(&kept(&lines), &expected);
            let passed = (first - 1 + expected.len()).min(all.len());
            let offset = all.iter().take(passed).map(|line| line.len() as u64).sum();
            prop_assert_eq!(lines.next, Place { passed, offset });
            prop_assert_eq!(lines.end == End::OfFile, passed == all.len());
            // The same from every place on the way.
            for place in places.into_iter().filter(|place| place.passed < first) {
                let (again, _) = read(content.as_bytes(), place, (first, limit), buffer);
                prop_assert_eq!(&again, &lines);
            }
        }
    }
}
