//! Bodies compressed on their way, without holding anything back.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Frame;

/// The same frames compressed: all of a chunk can be read before the next one comes.
pub(crate) fn gzipped(frames: Vec<Frame>) -> Vec<Frame> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut result = Vec::with_capacity(frames.len() + 1);
    let whole = frames.last() != Some(&Frame::Cut);
    for frame in frames {
        result.push(match frame {
            Frame::Chunk(bytes) => Frame::Chunk(compressed(&mut encoder, &bytes)),
            signal => signal,
        });
    }
    if let (true, Ok(rest)) = (whole, encoder.finish()) {
        result.push(Frame::Chunk(rest.into()));
    }
    result
}

fn compressed(encoder: &mut GzEncoder<Vec<u8>>, bytes: &[u8]) -> Bytes {
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes).and_then(|()| encoder.flush());
    std::mem::take(encoder.get_mut()).into()
}
