//! Readers between a file and its lines: one takes the digest of what goes by, one turns UTF-16 into UTF-8.

use std::io::{self, BufRead, Read};

use encoding_rs::Decoder;
use sha2::{Digest, Sha256};

use super::read_state::ContentHash;
use crate::document::text::TextEncoding;

/// Takes the digest of all bytes that go by, when asked to.
pub(super) struct Hashing<R> {
    inner: R,
    hasher: Option<Sha256>,
}

impl<R: BufRead> Hashing<R> {
    pub(super) fn new(inner: R, hashed: bool) -> Self {
        Self { inner, hasher: hashed.then(Sha256::new) }
    }

    /// The digest of what went by.
    pub(super) fn hash(self) -> Option<ContentHash> {
        self.hasher.map(|hasher| hasher.finalize().into())
    }
}

impl<R: BufRead> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, buffer)
    }
}

impl<R: BufRead> BufRead for Hashing<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(hasher) = &mut self.hasher {
            // What is there is handed out again without reading on.
            let buffer = self.inner.fill_buf().unwrap_or_default();
            hasher.update(buffer.get(..amount).unwrap_or_default());
        }
        self.inner.consume(amount);
    }
}

/// Gives what `inner` holds in another encoding as UTF-8; what is not valid becomes U+FFFD.
pub(super) struct Decoding<R> {
    inner: R,
    decoder: Decoder,
    /// Text of which `given` bytes have been handed out.
    text: String,
    given: usize,
    ended: bool,
}

impl<R: BufRead> Decoding<R> {
    pub(super) fn new(inner: R, encoding: TextEncoding) -> Self {
        let decoder = encoding.table().new_decoder_without_bom_handling();
        Self { inner, decoder, text: String::new(), given: 0, ended: false }
    }
}

impl<R: BufRead> Read for Decoding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, buffer)
    }
}

impl<R: BufRead> BufRead for Decoding<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.given >= self.text.len() && !self.ended {
            self.text.clear();
            self.given = 0;
            let bytes = self.inner.fill_buf()?;
            self.ended = bytes.is_empty();
            self.text.reserve(self.decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(16));
            let (_, used, _) = self.decoder.decode_to_string(bytes, &mut self.text, self.ended);
            self.inner.consume(used);
        }
        Ok(self.text.as_bytes().get(self.given..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.given += amount;
    }
}

fn read_buffered(reader: &mut impl BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut available = reader.fill_buf()?;
    let read = available.read(buffer)?;
    reader.consume(read);
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::document::text::detect;
    use crate::files::read_state::content_hash;

    #[test]
    fn text_and_digest_are_those_of_the_whole_however_it_is_cut() {
        let text = "gr\u{fc}n \u{1F600}\nzwei\n".repeat(9);
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let encoding = detect(&bytes, true).unwrap();
        for capacity in 1..9 {
            let mut hashing = Hashing::new(BufReader::with_capacity(capacity, bytes.as_slice()), true);
            let mut read = String::new();
            Decoding::new(&mut hashing, encoding).read_to_string(&mut read).unwrap();
            assert_eq!((read.as_str(), hashing.hash()), (text.as_str(), Some(content_hash(&bytes))));
        }
    }
}
