//! The body of a response as a series of chunks and signals.

use std::num::NonZeroUsize;

use bytes::{Bytes, BytesMut};

/// One step in sending a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// One HTTP chunk.
    Chunk(Bytes),
    /// Wait for the gate of that name.
    Gate(String),
    /// Rest for so many milliseconds.
    Pause(u64),
    /// Break the connection.
    Cut,
}

/// The same frames with chunks of `size` bytes; only before a signal and at the end may one be shorter.
pub(crate) fn sliced(frames: Vec<Frame>, size: NonZeroUsize) -> Vec<Frame> {
    let mut result = Vec::new();
    let mut pending = BytesMut::new();
    for frame in frames {
        match frame {
            Frame::Chunk(bytes) => pending.extend_from_slice(&bytes),
            signal => {
                slice_into(&mut result, std::mem::take(&mut pending).freeze(), size);
                result.push(signal);
            }
        }
    }
    slice_into(&mut result, pending.freeze(), size);
    result
}

fn slice_into(result: &mut Vec<Frame>, mut bytes: Bytes, size: NonZeroUsize) {
    while !bytes.is_empty() {
        let length = size.get().min(bytes.len());
        result.push(Frame::Chunk(bytes.split_to(length)));
    }
}
