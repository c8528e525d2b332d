//! Output in bounded memory: the beginning and the end are kept, the middle is counted.

use std::collections::VecDeque;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

/// Bytes kept from the beginning.
const HEAD: usize = 12 * 1024;
/// Bytes kept from the end; both together stay under 30,000.
const TAIL: usize = 17 * 1024;
/// Bytes taken at once.
const CHUNK: usize = 32 * 1024;

/// The reading end of a program's output.
pub(super) struct Output<F> {
    pipe: Option<Receiver>,
    chunk: Box<[u8]>,
    capture: Capture,
    live: Utf8Stream,
    on_output: F,
}

impl<F: FnMut(&str)> Output<F> {
    pub(super) fn new(pipe: PipeReader, on_output: F) -> io::Result<Self> {
        let pipe = Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        Ok(Self {
            pipe: Some(pipe),
            chunk: vec![0; CHUNK].into_boxed_slice(),
            capture: Capture::default(),
            live: Utf8Stream::default(),
            on_output,
        })
    }

    /// Somebody may still write.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes what is there, or waits until something is. Nothing is lost when it is dropped.
    pub(super) async fn take_some(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let text = match pipe.read(&mut self.chunk).await {
            Ok(0) | Err(_) => {
                self.pipe = None;
                self.live.finish()
            }
            Ok(count) => {
                let bytes = self.chunk.get(..count).unwrap_or_default();
                self.capture.push(bytes);
                self.live.push(bytes)
            }
        };
        if !text.is_empty() {
            (self.on_output)(&text);
        }
    }

    /// Takes everything up to the end of the output.
    pub(super) async fn take_rest(&mut self) {
        while self.is_open() {
            self.take_some().await;
        }
    }

    pub(super) fn into_text(self) -> (String, u64) {
        self.capture.into_text()
    }
}

/// The first and the last bytes of an output.
#[derive(Debug, Default)]
struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        let overlong = rest.len().saturating_sub(TAIL);
        let rest = rest.get(overlong..).unwrap_or_default();
        let displaced = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..displaced);
        self.tail.extend(rest);
        self.dropped += (overlong + displaced) as u64;
    }

    /// The text, and how many bytes are missing from its middle.
    fn into_text(mut self) -> (String, u64) {
        let tail = self.tail.make_contiguous();
        if self.dropped == 0 {
            self.head.extend_from_slice(tail);
            return (lossy(self.head), 0);
        }
        // Characters that the cut goes through are dropped whole.
        let head_end = self.head.len() - incomplete_tail(&self.head);
        let tail_start = tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let dropped = self.dropped + (self.head.len() - head_end + tail_start) as u64;
        self.head.truncate(head_end);
        let head = lossy(self.head);
        let tail = String::from_utf8_lossy(tail.get(tail_start..).unwrap_or_default());
        (format!("{head}\n[... {dropped} bytes left out here ...]\n{tail}"), dropped)
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Length of a character at the end of `bytes` that lacks its last bytes.
fn incomplete_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        if byte & 0xC0 == 0x80 {
            continue;
        }
        let length = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        return if length > back { back } else { 0 };
    }
    0
}

/// Decodes a stream whose pieces may end within a character.
#[derive(Debug, Default)]
struct Utf8Stream {
    pending: Vec<u8>,
}

impl Utf8Stream {
    fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        self.pending = all.split_off(all.len() - incomplete_tail(&all));
        lossy(all)
    }

    fn finish(&mut self) -> String {
        lossy(std::mem::take(&mut self.pending))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_is_counted_and_characters_stay_whole() {
        let mut capture = Capture::default();
        let line = "grün €uro 🦀\n".as_bytes();
        for _ in 0..100_000 {
            capture.push(line);
        }
        let (text, dropped) = capture.into_text();
        assert!(!text.contains('\u{FFFD}'));
        let marker = format!("\n[... {dropped} bytes left out here ...]\n");
        assert_eq!(text.len() as u64 + dropped, (100_000 * line.len() + marker.len()) as u64);
        assert!(text.contains(&marker) && text.len() < 30_000);
    }

    proptest! {
        #[test]
        fn pieces_decode_like_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 1..7_usize) {
            let mut stream = Utf8Stream::default();
            let mut capture = Capture::default();
            let mut text = String::new();
            for piece in bytes.chunks(cut) {
                text.push_str(&stream.push(piece));
                capture.push(piece);
            }
            text.push_str(&stream.finish());
            prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
            prop_assert_eq!(capture.into_text(), (text, 0));
        }
    }
}
