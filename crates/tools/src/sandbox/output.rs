//! The output of a command that arrives as bytes, in pieces.

use std::collections::VecDeque;

use super::port::{OutputListener, OutputStream};

/// Bytes that are put into a file of the sandbox when an output is longer than what is kept of it.
pub(super) const WHOLE_OUTPUT: usize = 16 * 1024 * 1024;

/// One output: passed on as text, its beginning and its end kept.
pub(super) struct Output {
    stream: OutputStream,
    listener: Option<OutputListener>,
    /// The bytes of a character that has not come in whole.
    pending: Vec<u8>,
    kept: Kept,
}

impl Output {
    pub(super) fn new(stream: OutputStream, limit: usize, listener: Option<OutputListener>) -> Self {
        Self { stream, listener, pending: Vec::new(), kept: Kept::new(limit) }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
        let Some(listener) = &self.listener else { return };
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        self.pending = all.split_off(all.len() - incomplete_end(&all));
        if !all.is_empty() {
            listener(self.stream, &String::from_utf8_lossy(&all));
        }
    }

    /// The text, and how many bytes are missing from its middle.
    pub(super) fn finish(self) -> (String, u64) {
        if let Some(listener) = &self.listener
            && !self.pending.is_empty()
        {
            listener(self.stream, &String::from_utf8_lossy(&self.pending));
        }
        self.kept.finish()
    }
}

/// The first and the last bytes.
struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self { half: limit.div_ceil(2), head: Vec::new(), tail: VecDeque::new(), omitted: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let last = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let displaced = (self.tail.len() + last.len()).saturating_sub(self.half);
        self.tail.drain(..displaced);
        self.tail.extend(last);
        self.omitted += (rest.len() - last.len() + displaced) as u64;
    }

    fn finish(mut self) -> (String, u64) {
        let tail = self.tail.make_contiguous();
        if self.omitted == 0 {
            self.head.extend_from_slice(tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), 0);
        }
        // Characters that the cut goes through are left out whole.
        let head_end = self.head.len() - incomplete_end(&self.head);
        let tail_start = tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let omitted = self.omitted + (self.head.len() - head_end + tail_start) as u64;
        self.head.truncate(head_end);
        let tail = String::from_utf8_lossy(tail.get(tail_start..).unwrap_or_default());
        let head = String::from_utf8_lossy(&self.head);
        (format!("{head}\n[... {omitted} bytes left out here ...]\n{tail}"), omitted)
    }
}

/// Length of a character at the end of `bytes` that lacks its last bytes.
fn incomplete_end(bytes: &[u8]) -> usize {
    let end = bytes.get(bytes.len().saturating_sub(3)..).unwrap_or_default();
    for (back, byte) in end.iter().rev().enumerate() {
        let length = match byte {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        return if length > back + 1 { back + 1 } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn pieces_are_told_as_whole_characters_and_the_middle_is_counted() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&told);
        let listener: OutputListener =
            Arc::new(move |_, text: &str| seen.lock().unwrap().push(text.to_owned()));
        let mut output = Output::new(OutputStream::Stdout, 8, Some(listener));
        for byte in "a€🦀".bytes() {
            output.push(&[byte]);
        }
        output.push("zzzz€b\u{e9}".as_bytes());
        output.push(&[0xC3]);
        let (text, omitted) = output.finish();
        assert_eq!(*told.lock().unwrap(), ["a", "€", "🦀", "zzzz€bé", "\u{FFFD}"]);
        assert_eq!((text.as_str(), omitted), ("a€\n[... 11 bytes left out here ...]\nbé\u{FFFD}", 11));
    }
}
