//! Splits a log into lines, whatever state it is in.

use std::io::{self, BufRead, BufReader, Read};

/// Longer lines are skipped unread: no event is that long, and memory stays bounded.
const MAX_LINE: u64 = 64 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const READ_BUFFER: usize = 256 * 1024;

/// The lines of a log, one at a time.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    offset: u64,
    number: Option<u64>,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its number from 1, when reading began at the beginning.
    pub(crate) line: Option<u64>,
    /// Where it begins, in bytes.
    pub(crate) offset: u64,
    /// Its length in bytes, line break included.
    pub(crate) length: u64,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) place: Place,
    /// Its text without line break and surrounding zero bytes.
    pub(crate) text: &'a [u8],
    /// Zero bytes around the text.
    pub(crate) zeros: usize,
    /// Whether it ends with a line break.
    pub(crate) ended: bool,
    /// Whether it was too long to be read.
    pub(crate) oversized: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of `reader`, which begins at byte `offset` of the log.
    pub(crate) fn new(reader: R, offset: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BUFFER, reader),
            buffer: Vec::new(),
            offset,
            number: (offset == 0).then_some(0),
        }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut length = self.reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.buffer)? as u64;
        if length == 0 {
            return Ok(None);
        }
        let mut ended = self.buffer.last() == Some(&b'\n');
        let oversized = !ended && length == MAX_LINE;
        if oversized {
            self.buffer = Vec::new();
            let skipped;
            (skipped, ended) = skip_line(&mut self.reader)?;
            length += skipped;
        }
        self.number = self.number.map(|number| number + 1);
        let place = Place { line: self.number, offset: self.offset, length };
        self.offset += length;
        let whole = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        // An editor may have put it there.
        let whole =
            if place.offset == 0 { whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole) } else { whole };
        let text = trim_zeros(whole);
        let zeros = whole.len() - text.len();
        Ok(Some(Line { place, text: text.trim_ascii(), zeros, ended, oversized }))
    }
}

/// Reads to the end of a line and keeps nothing of it: how many bytes that were, and whether it ends with a
/// line break.
fn skip_line(reader: &mut impl BufRead) -> io::Result<(u64, bool)> {
    let mut skipped = 0;
    loop {
        let piece = match reader.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let line_break = piece.iter().position(|byte| *byte == b'\n');
        let (length, ended) = (line_break.map_or(piece.len(), |at| at + 1), line_break.is_some());
        reader.consume(length);
        skipped += length as u64;
        if ended || length == 0 {
            return Ok((skipped, ended));
        }
    }
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let Some(first) = bytes.iter().position(|byte| *byte != 0) else { return &[] };
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(first);
    bytes.get(first..=last).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_place_and_lose_surrounding_zeros() {
        let mut lines = Lines::new(&b"ab\n\0\0cd\0\r\n\0\0\nef"[..], 0);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let Place { line: number, offset, length } = line.place;
            seen.push((number.unwrap(), offset, length, line.text.to_vec(), line.zeros, line.ended));
        }
        let expected = [
            (1, 0, 3, b"ab".to_vec(), 0, true),
            (2, 3, 7, b"cd\0".to_vec(), 2, true),
            (3, 10, 3, b"".to_vec(), 2, true),
            (4, 13, 2, b"ef".to_vec(), 0, false),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_line_without_end_is_skipped_in_bounded_memory() {
        let endless = io::repeat(b'x').take(MAX_LINE + 10).chain(&b"\nok\n"[..]);
        let mut lines = Lines::new(endless, 5);
        let line = lines.next().unwrap().unwrap();
        assert!(line.oversized && line.ended && line.text.is_empty());
        assert_eq!(line.place, Place { line: None, offset: 5, length: MAX_LINE + 11 });
        assert_eq!(lines.next().unwrap().unwrap().text, b"ok");
    }

    #[test]
    fn a_last_line_that_is_too_long_is_not_taken_for_an_ended_one() {
        for rest in [0, 10] {
            let mut lines = Lines::new(io::repeat(b'x').take(MAX_LINE + rest), 0);
            let line = lines.next().unwrap().unwrap();
            assert_eq!((line.oversized, line.ended, line.place.length), (true, false, MAX_LINE + rest));
            assert_eq!(lines.next().unwrap(), None);
        }
    }
}
