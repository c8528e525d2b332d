//! The text of a file as it is edited, and the way back to its bytes.

use std::borrow::Cow;

use crate::document::text::{TextEncoding, Unencodable, decode, detect};

const MARK: &str = "\u{FEFF}";

/// A text with the encoding it came in.
#[derive(Debug)]
pub(super) struct Decoded {
    /// UTF-8 keeps its byte order mark here, so that a large file need not be copied.
    content: String,
    encoding: TextEncoding,
}

impl Decoded {
    /// The text of `bytes`; `None` when they are none, or would not come out the same again.
    pub(super) fn new(bytes: Vec<u8>) -> Option<Self> {
        let encoding = detect(&bytes, true)?;
        if encoding.is_utf8() {
            return Some(Self { content: String::from_utf8(bytes).ok()?, encoding });
        }
        let (content, encoding) = decode(&bytes)?;
        Some(Self { content, encoding })
    }

    /// The text without a byte order mark.
    pub(super) fn text(&self) -> &str {
        self.content.get(self.mark().len()..).unwrap_or_default()
    }

    /// Whether the file has these bytes.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.encode(&self.content).is_ok_and(|own| *own == *bytes)
    }

    /// What a changed content begins with.
    pub(super) fn mark(&self) -> &'static str {
        if self.encoding.is_utf8() && !self.encoding.mark_bytes().is_empty() { MARK } else { "" }
    }

    /// Whether a mark or an encoding other than plain UTF-8 has to be kept, and how it is called.
    pub(super) fn special(&self) -> Option<&'static str> {
        (self.encoding != TextEncoding::UTF_8).then(|| self.encoding.name())
    }

    /// The bytes of `content`, which begins with [`Decoded::mark`].
    ///
    /// # Errors
    ///
    /// When a character does not exist in the encoding.
    pub(super) fn encode<'a>(&self, content: &'a str) -> Result<Cow<'a, [u8]>, Unencodable> {
        if self.encoding.is_utf8() {
            return Ok(Cow::Borrowed(content.as_bytes()));
        }
        self.encoding.encode(content).map(Cow::Owned)
    }
}
