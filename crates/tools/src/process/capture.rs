//! Output in bounded memory: the beginning and the end are kept, the middle is counted.

use std::collections::VecDeque;

use robota_core::{HarmlessText, harmless_text, is_binary};

/// Bytes kept from the beginning.
const HEAD: usize = 12 * 1024;
/// Bytes kept from the end; both together stay under 30,000.
const TAIL: usize = 17 * 1024;
/// How far the ends of lines are looked for.
const NEAR: usize = 1024;

/// The first and the last bytes of an output.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: Tail,
    dropped: u64,
}

/// What of an output can be shown.
pub(super) enum Shown {
    Whole(String),
    /// Its beginning, of so many lines, and its end, with so many bytes in between.
    Ends {
        head: String,
        lines: usize,
        omitted: u64,
        tail: String,
    },
    /// Nothing, because it is no text.
    Binary,
}

impl Default for Capture {
    fn default() -> Self {
        Self { head: Vec::new(), tail: Tail::new(TAIL), dropped: 0 }
    }
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        self.dropped += self.tail.push(rest);
    }

    /// Whether `more` bytes would push others out.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.head.len() + self.tail.bytes.len() + more <= HEAD + TAIL
    }

    /// Everything so far, in two pieces, as long as nothing was left out.
    pub(super) fn pieces(&mut self) -> [&[u8]; 2] {
        [&self.head, self.tail.bytes.make_contiguous()]
    }

    /// Whether what was kept is no text.
    pub(super) fn is_binary(&mut self) -> bool {
        is_binary(&self.head) || is_binary(self.tail.bytes.make_contiguous())
    }

    /// What of it can be shown: without the middle, whole lines where they end nearby, and whole characters.
    pub(super) fn into_shown(mut self) -> Shown {
        if self.is_binary() {
            return Shown::Binary;
        }
        let tail = &*self.tail.bytes.make_contiguous();
        if self.dropped == 0 {
            self.head.extend_from_slice(tail);
            return Shown::Whole(harmless_text(&self.head).into_owned());
        }
        let head = self.head.get(..last_line_end(&self.head)).unwrap_or_default();
        let rest = tail.get(first_line_start(tail)..).unwrap_or_default();
        let trimmed = (self.head.len() - head.len()) + (tail.len() - rest.len());
        let omitted = self.dropped + trimmed as u64;
        let lines = head.iter().filter(|byte| **byte == b'\n').count();
        let (mut head_text, mut stream) = (String::new(), HarmlessText::default());
        stream.push(head, &mut head_text);
        // What is not complete goes with the middle.
        stream.flush(&mut head_text);
        Shown::Ends { head: head_text, lines, omitted, tail: harmless_text(rest).into_owned() }
    }
}

/// The end of the last line of `head`, or its own where none is near.
fn last_line_end(head: &[u8]) -> usize {
    let near = head.len().saturating_sub(NEAR);
    let end = head.get(near..).and_then(|end| end.iter().rposition(|byte| *byte == b'\n'));
    end.map_or(head.len(), |at| near + at + 1)
}

/// The beginning of the first line of `tail`, or of its first character where none is near.
fn first_line_start(tail: &[u8]) -> usize {
    let line_end = tail.iter().take(NEAR).position(|byte| *byte == b'\n');
    let character = || tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    line_end.map_or_else(character, |at| at + 1)
}

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) bytes: VecDeque<u8>,
    most: usize,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: VecDeque::new(), most }
    }

    /// Takes `bytes`, and tells how many had to go for them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> u64 {
        let overlong = bytes.len().saturating_sub(self.most);
        let bytes = bytes.get(overlong..).unwrap_or_default();
        let displaced = (self.bytes.len() + bytes.len()).saturating_sub(self.most);
        self.bytes.drain(..displaced);
        self.bytes.extend(bytes);
        (overlong + displaced) as u64
    }

    /// Keeps at most `most` bytes from now on, and tells how many had to go.
    pub(super) fn keep_at_most(&mut self, most: usize) -> u64 {
        self.most = most;
        self.push(&[])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Shown {
        let mut capture = Capture::default();
        pieces.into_iter().for_each(|piece| capture.push(piece));
        capture.into_shown()
    }

    #[test]
    fn the_middle_is_counted_and_lines_stay_whole() {
        let line = "grün €uro 🦀\n";
        let Shown::Ends { head, lines, omitted, tail } =
            captured(std::iter::repeat_n(line.as_bytes(), 100_000))
        else {
            panic!("all of it was kept");
        };
        assert_eq!((head.len() / line.len(), head.len() % line.len()), (lines, 0));
        assert!(head.starts_with(line) && tail.starts_with(line) && tail.ends_with(line));
        assert_eq!((head.len() + tail.len()) as u64 + omitted, (100_000 * line.len()) as u64);
        assert!(head.len() + tail.len() > 27_000);
    }

    #[test]
    fn characters_stay_whole_where_there_are_no_lines() {
        let Shown::Ends { head, omitted, tail, .. } = captured(std::iter::repeat_n("€".as_bytes(), 20_000))
        else {
            panic!("all of it was kept");
        };
        assert!(!head.contains('\u{FFFD}') && !tail.contains('\u{FFFD}'));
        assert_eq!((head.len() + tail.len()) as u64 + omitted, 60_000);
    }

    proptest! {
        #[test]
        fn a_short_output_is_whole(bytes in prop::collection::vec(32..127_u8, 0..400), cut in 1..7_usize) {
            let Shown::Whole(text) = captured(bytes.chunks(cut)) else { return Err(TestCaseError::fail("cut")) };
            prop_assert_eq!(text.as_bytes(), &bytes);
        }
    }
}
