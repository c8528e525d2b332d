//! Text of programs, without what it could do to the screen of whoever reads it.

use std::borrow::Cow;

/// The longest line that is held back for a carriage return to take it away, in bytes.
const LONGEST_LINE: usize = 16 * 1024;
/// How much of a text has to be no text for all of it to count as binary, in percent.
const BINARY_PERCENT: usize = 30;
/// Outputs below this many bytes are shown whatever is in them.
const BINARY_LEAST: usize = 64;

/// Makes the output of a program harmless as it comes, in pieces that may end anywhere (issue: binary garbage
/// and terminal escapes).
///
/// Bytes that are not UTF-8 become U+FFFD. Escape sequences of terminals are taken out: colours, movements,
/// titles, links. Of a line that is written over by carriage returns, the last state stays. Other control
/// characters but tab and line feed are shown as `\x08` or `\u{9b}`.
#[derive(Debug, Default)]
pub struct HarmlessText {
    /// A character that lacks its last bytes.
    partial: Vec<u8>,
    state: State,
    /// The line so far, as far as it was not handed out.
    line: String,
    /// A carriage return came, so that the next character writes over the line.
    returned: bool,
    /// The beginning of the line was handed out, so that it cannot be taken back.
    begun: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate characters.
    Intermediate,
    /// In a control sequence.
    Csi,
    /// In a string for the terminal, such as a title.
    Str,
    /// After ESC in such a string.
    StrEscape,
}

impl HarmlessText {
    /// Takes the next `bytes` and appends the lines that they complete to `shown`.
    pub fn push(&mut self, bytes: &[u8], shown: &mut String) {
        let mut joined = std::mem::take(&mut self.partial);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let (whole, partial) = bytes.split_at(bytes.len() - incomplete_end(bytes));
        self.partial = partial.to_vec();
        for chunk in whole.utf8_chunks() {
            self.push_text(chunk.valid(), shown);
            if !chunk.invalid().is_empty() {
                self.push_char('\u{FFFD}', shown);
            }
        }
    }

    /// Appends the beginning of a line that is not complete to `shown`; a carriage return begins a new line
    /// after it.
    pub fn flush(&mut self, shown: &mut String) {
        self.begun |= !self.line.is_empty();
        shown.push_str(&self.line);
        self.line.clear();
    }

    /// Appends what is left at the end of the output to `shown`.
    pub fn finish(mut self, shown: &mut String) {
        if !self.partial.is_empty() {
            self.push_char('\u{FFFD}', shown);
        }
        if self.state == State::Escape {
            self.append("\\x1b", shown);
        }
        shown.push_str(&self.line);
    }

    fn push_text(&mut self, text: &str, shown: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            // What needs no thought goes in one piece.
            let plain = match self.state {
                State::Text => rest.find(|c| c == '\n' || is_special(c)).unwrap_or(rest.len()),
                _ => 0,
            };
            let (first, after) = rest.split_at(plain);
            self.append(first, shown);
            let mut chars = after.chars();
            if let Some(c) = chars.next() {
                self.push_char(c, shown);
            }
            rest = chars.as_str();
        }
    }

    fn push_char(&mut self, c: char, shown: &mut String) {
        let next = match (self.state, c) {
            (State::Text, _) => return self.push_in_text(c, shown),
            (State::Escape, '[') => State::Csi,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Str,
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, '0'..='~') => State::Text,
            (State::Csi, ' '..='?') => State::Csi,
            (State::Csi, '@'..='~') => State::Text,
            (State::Str, '\u{1b}') => State::StrEscape,
            (State::StrEscape, '\\') | (State::Str, '\u{7}' | '\u{18}' | '\u{1a}' | '\u{9c}') => State::Text,
            (State::Str, '\n') => return self.push_anew("", c, shown),
            (State::Str, _) => State::Str,
            (State::Escape, _) => return self.push_anew("\\x1b", c, shown),
            // A sequence that breaks off; in a string, another one begins.
            (State::StrEscape, _) => {
                self.state = State::Escape;
                return self.push_char(c, shown);
            }
            (State::Intermediate | State::Csi, _) => return self.push_anew("", c, shown),
        };
        self.state = next;
    }

    /// `c` outside of any sequence, behind `left` of one that is none.
    fn push_anew(&mut self, left: &str, c: char, shown: &mut String) {
        self.state = State::Text;
        self.append(left, shown);
        self.push_in_text(c, shown);
    }

    fn push_in_text(&mut self, c: char, shown: &mut String) {
        match c {
            '\n' => {
                self.line.push('\n');
                shown.push_str(&self.line);
                self.line.clear();
                (self.begun, self.returned) = (false, false);
            }
            '\r' => self.returned = true,
            '\u{1b}' => self.state = State::Escape,
            c if is_special(c) => self.append(&escaped(c), shown),
            c => self.append(c.encode_utf8(&mut [0; 4]), shown),
        }
    }

    fn append(&mut self, text: &str, shown: &mut String) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.returned) {
            self.line.clear();
            if std::mem::take(&mut self.begun) {
                shown.push('\n');
            }
        }
        self.line.push_str(text);
        if self.line.len() > LONGEST_LINE {
            self.flush(shown);
        }
    }
}

/// `bytes` as harmless text; see [`HarmlessText`].
#[must_use]
pub fn harmless_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(is_special) => Cow::Borrowed(text),
        _ => {
            let mut shown = String::with_capacity(bytes.len());
            let mut stream = HarmlessText::default();
            stream.push(bytes, &mut shown);
            stream.finish(&mut shown);
            Cow::Owned(shown)
        }
    }
}

/// Whether `bytes` are no text that anybody could read: three in ten of them are NUL, other controls that no
/// text has, or not UTF-8. Fewer than 64 bytes are always shown.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    if bytes.len() < BINARY_LEAST {
        return false;
    }
    let is_odd = |byte: &u8| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127);
    let mut odd = 0;
    for chunk in bytes.utf8_chunks() {
        odd += chunk.invalid().len() + chunk.valid().bytes().filter(is_odd).count();
    }
    odd * 100 >= bytes.len() * BINARY_PERCENT
}

fn is_special(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

fn escaped(c: char) -> String {
    let code = u32::from(c);
    if code < 0x80 { format!("\\x{code:02x}") } else { format!("\\u{{{code:x}}}") }
}

/// Length of a character at the end of `bytes` that lacks its last bytes.
fn incomplete_end(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).position(|byte| byte & 0xC0 != 0x80);
    let Some(back) = last.map(|at| at + 1) else { return 0 };
    let length = match bytes.get(bytes.len() - back) {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 1,
    };
    if length > back { back } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(bytes: impl AsRef<[u8]>) -> String {
        harmless_text(bytes.as_ref()).into_owned()
    }

    #[test]
    fn sequences_go_and_what_is_between_them_stays() {
        for (output, text) in [
            ("plain\ttext\r\nnext\n", "plain\ttext\nnext\n"),
            ("\x1b[1;31mred\x1b[0m and \x1b[38:5:1mmore\x1b[m", "red and more"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
            ("\x1bPq#0~\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c", "abc"),
            ("\x1b(B\x1b7\x1b8\x1bcx\x1b#8y", "xy"),
            ("a\x1b]never closed\nb", "a\nb"),
            ("a\x1b[12\nb", "a\nb"),
            ("a\x1b[1\x1b[2mb", "ab"),
            ("a\x1b]t\x1b[1mb", "ab"),
            ("a\x1bäb\x1b\x1b[mc\x1b", "a\\x1bäb\\x1bc\\x1b"),
            ("a\x08b\0c\x7fd\x0ce\x07f\u{9b}g\u{85}h", "a\\x08b\\x00c\\x7fd\\x0ce\\x07f\\u{9b}g\\u{85}h"),
        ] {
            assert_eq!(shown(output), text, "{output:?}");
        }
        assert_eq!(shown(b"a\xFFb\xC3\xA9\xF0\x9F\xA6c\xE2\x82"), "a\u{FFFD}bé\u{FFFD}c\u{FFFD}");
    }

    #[test]
    fn of_a_progress_bar_the_last_state_stays() {
        assert_eq!(shown("get\n 1%\r 50%\r100%\ndone\n"), "get\n100%\ndone\n");
        assert_eq!(shown("10%\r\x1b[K20%\r\x1b[2K30%\r"), "30%");
        assert_eq!(shown("a\r\r\nb\r\n"), "a\nb\n");
    }

    #[test]
    fn what_was_handed_out_is_not_taken_back() {
        let (mut stream, mut text) = (HarmlessText::default(), String::new());
        for piece in ["10%", "\r20", "%\r", "\x1b[K30%", "\n"] {
            stream.push(piece.as_bytes(), &mut text);
            stream.flush(&mut text);
        }
        stream.finish(&mut text);
        assert_eq!(text, "10%\n20%\n30%\n");
    }

    #[test]
    fn a_line_without_end_is_not_held_back() {
        let (mut stream, mut text) = (HarmlessText::default(), String::new());
        for _ in 0..10_000 {
            stream.push(&[b'x'; 100], &mut text);
            assert!(stream.line.len() <= LONGEST_LINE);
        }
        stream.finish(&mut text);
        assert_eq!(text.len(), 1_000_000);
    }

    #[test]
    fn binary_is_told_from_text_in_other_encodings() {
        let latin = "Gr\u{fc}\u{df}e aus M\u{fc}nchen, \u{e4}\u{f6}\u{fc}; ".repeat(20);
        let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let names = "src/main.rs\0Cargo.toml\0".repeat(20);
        for text in [&latin[..], names.as_bytes(), "漢字仮名交じり文".repeat(20).as_bytes(), &[0; 63], b""]
        {
            assert!(!is_binary(text), "{}", String::from_utf8_lossy(text));
        }
        let mixed: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(is_binary(&mixed) && is_binary(&[0; 64]));
    }

    proptest! {
        #[test]
        fn pieces_come_out_like_the_whole(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(&b"\x1b\x1b[]P\\0;mK\r\n\x07\xC3\xA9\x9b"[..])], 0..200),
            cut in 1..7_usize,
        ) {
            let (mut stream, mut text) = (HarmlessText::default(), String::new());
            for piece in bytes.chunks(cut) {
                stream.push(piece, &mut text);
            }
            stream.finish(&mut text);
            prop_assert_eq!(&text, &shown(&bytes));
            prop_assert!(!text.contains(is_special));
        }
    }
}
