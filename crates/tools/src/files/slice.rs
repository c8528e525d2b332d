//! A range of lines of a file, read as a stream.

use std::fmt::Write;
use std::io::{self, BufRead};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::read_state::ContentHash;

/// Characters of a line that are shown.
pub(super) const MAX_LINE_CHARS: usize = 2_000;
/// Characters of the whole slice.
pub(super) const MAX_CHARS: usize = 30_000;

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Slice {
    /// Lines as `{number}\t{line}`.
    pub(super) text: String,
    /// How many lines `text` has.
    pub(super) shown: usize,
    /// Lines of the file that were passed or shown.
    pub(super) passed: usize,
    /// How many lines were cut at [`MAX_LINE_CHARS`].
    pub(super) cut_lines: usize,
    /// The file ends with the last line of `text`, or before the first.
    pub(super) at_end: bool,
    /// Digest of the file, when all of it went by.
    pub(super) hash: Option<ContentHash>,
}

/// Reads `limit` lines from line `first` (from 1) on; fewer when [`MAX_CHARS`] are reached.
///
/// With `hashed` the digest is taken along the way.
///
/// # Errors
///
/// When reading fails, or, with kind `Interrupted`, when `stop` fires.
pub(super) fn read_slice(
    reader: &mut impl BufRead,
    (first, limit): (usize, usize),
    hashed: bool,
    stop: &CancellationToken,
) -> io::Result<Slice> {
    let mut source = Source { reader, stop, hasher: hashed.then(Sha256::new) };
    let mut slice = Slice::default();
    while slice.passed + 1 < first {
        if source.next_line(None)?.is_none() {
            slice.at_end = true;
            return Ok(slice);
        }
        slice.passed += 1;
    }
    let mut chars = 0;
    let mut line = Vec::new();
    while slice.shown < limit && chars < MAX_CHARS {
        line.clear();
        let Some(whole) = source.next_line(Some(&mut line))? else { break };
        slice.passed += 1;
        slice.shown += 1;
        chars += push_line(&mut slice, &line, whole);
    }
    slice.at_end = source.is_at_end()?;
    slice.hash = source.hasher.filter(|_| slice.at_end).map(|hasher| hasher.finalize().into());
    Ok(slice)
}

/// Appends a numbered line; returns how many characters that took.
fn push_line(slice: &mut Slice, line: &[u8], whole: bool) -> usize {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = if slice.passed == 1 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
    let text = String::from_utf8_lossy(line);
    let before = slice.text.len();
    // Writing to a string does not fail.
    let _ = write!(slice.text, "{}\t", slice.passed);
    let kept = text.char_indices().nth(MAX_LINE_CHARS).map_or(text.len(), |(at, _)| at);
    slice.text.push_str(text.get(..kept).unwrap_or_default());
    if kept < text.len() || !whole {
        slice.cut_lines += 1;
        slice.text.push_str(" [line cut]");
    }
    slice.text.push('\n');
    slice.text.get(before..).unwrap_or_default().chars().count()
}

struct Source<'a, R> {
    reader: &'a mut R,
    stop: &'a CancellationToken,
    hasher: Option<Sha256>,
}

impl<R: BufRead> Source<'_, R> {
    /// Goes past one line, keeping its beginning in `line`. `None` at the end of the file, else
    /// whether all of it was kept.
    fn next_line(&mut self, mut line: Option<&mut Vec<u8>>) -> io::Result<Option<bool>> {
        // Room for the longest shown line in any encoding of its characters.
        let most = 4 * (MAX_LINE_CHARS + 1);
        let (mut any, mut whole) = (false, true);
        loop {
            let buffer = fill(self.reader, self.stop)?;
            if buffer.is_empty() {
                return Ok(any.then_some(whole));
            }
            any = true;
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let content = buffer.get(..newline.unwrap_or(buffer.len())).unwrap_or_default();
            if let Some(line) = line.as_deref_mut() {
                let room = content.len().min(most - line.len());
                whole &= room == content.len();
                line.extend_from_slice(content.get(..room).unwrap_or_default());
            }
            let used = newline.map_or(buffer.len(), |at| at + 1);
            if let Some(hasher) = &mut self.hasher {
                hasher.update(buffer.get(..used).unwrap_or_default());
            }
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(Some(whole));
            }
        }
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(fill(self.reader, self.stop)?.is_empty())
    }
}

fn fill<'a>(reader: &'a mut impl BufRead, stop: &CancellationToken) -> io::Result<&'a [u8]> {
    if stop.is_cancelled() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    reader.fill_buf()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::files::read_state::content_hash;

    fn slice(content: &[u8], range: (usize, usize)) -> Slice {
        // A small buffer makes lines and characters span refills.
        let mut reader = BufReader::with_capacity(7, content);
        read_slice(&mut reader, range, true, &CancellationToken::new()).unwrap()
    }

    #[test]
    fn a_range_is_numbered_as_in_the_file() {
        let part = slice(b"one\ntwo\r\nthree\nfour", (2, 2));
        assert_eq!((part.text.as_str(), part.shown, part.passed), ("2\ttwo\n3\tthree\n", 2, 3));
        assert_eq!((part.at_end, part.hash), (false, None));
        let rest = slice(b"one\ntwo\r\nthree\nfour", (4, 9));
        assert_eq!((rest.text.as_str(), rest.at_end), ("4\tfour\n", true));
        let beyond = slice(b"one\n", (7, 1));
        assert_eq!((beyond.shown, beyond.passed, beyond.at_end), (0, 1, true));
    }

    #[test]
    fn a_whole_file_is_hashed_with_its_mark() {
        let content = "\u{FEFF}grün\n".as_bytes();
        let all = slice(content, (1, 10));
        assert_eq!((all.text.as_str(), all.hash), ("1\tgrün\n", Some(content_hash(content))));
    }

    #[test]
    fn long_lines_and_long_slices_are_cut() {
        let content = "é".repeat(5_000) + "\n" + &"0123456789\n".repeat(10_000);
        let part = slice(content.as_bytes(), (1, 20_000));
        assert_eq!(part.cut_lines, 1);
        assert!(part.text.starts_with(&format!("1\t{} [line cut]\n2\t0123", "é".repeat(2_000))));
        let chars = part.text.chars().count();
        assert!((MAX_CHARS..MAX_CHARS + 100).contains(&chars) && !part.at_end, "{chars}");
    }
}
