//! The frames of a stream of the Connect protocol: a byte of flags, four of length, a message.

use super::super::error::SandboxError;
use super::answer::not_understood;

/// The message is compressed; that was not asked for.
const COMPRESSED: u8 = 0b01;
/// The last message: how the call went.
const END: u8 = 0b10;
/// Bytes of a message that are held in memory.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// A message of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Message(Vec<u8>),
    End(Vec<u8>),
}

/// A message to be sent.
pub(super) fn encode(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(message.len() + 5);
    frame.push(0);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

/// Takes frames out of bytes that come in pieces.
#[derive(Default)]
pub(super) struct Decoder {
    buffer: Vec<u8>,
    /// Where the bytes begin that have not been taken.
    taken: usize,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame that has come in whole.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, SandboxError> {
        let rest = self.buffer.get(self.taken..).unwrap_or_default();
        let Some((&[flags, a, b, c, d], rest)) = rest.split_first_chunk::<5>() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > MAX_MESSAGE || flags & COMPRESSED != 0 {
            return Err(not_understood("follow the command"));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = message.to_vec();
        self.taken += 5 + length;
        Ok(Some(if flags & END == 0 { Frame::Message(message) } else { Frame::End(message) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_of_any_pieces() {
        let mut bytes = encode(b"one");
        bytes.extend(encode(b""));
        bytes.extend([END, 0, 0, 0, 2, b'{', b'}']);
        for size in 1..bytes.len() {
            let mut decoder = Decoder::default();
            let mut frames = Vec::new();
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                while let Some(frame) = decoder.next().unwrap() {
                    frames.push(frame);
                }
            }
            let expected =
                [Frame::Message(b"one".to_vec()), Frame::Message(vec![]), Frame::End(b"{}".to_vec())];
            assert_eq!(frames, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_or_compressed_is_none() {
        for bytes in [[0, 0xFF, 0, 0, 0], [COMPRESSED, 0, 0, 0, 1]] {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            assert!(decoder.next().is_err());
        }
    }
}
