//! Why a payload cannot stand in its place again.

use std::io;

use super::PayloadReference;

/// What is wrong with a payload, or with the reference to it (facts sheet 4.3).
///
/// A circle of payloads is no case of its own: each would have to contain its own hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PayloadErrorKind {
    /// The reference has no hash, size or path that could be right.
    InvalidReference,
    /// The reference names another place than the payload folder of its session.
    OutsideRoot,
    /// There is no such payload.
    NotFound,
    /// The payload is there and cannot be read.
    Unreadable,
    /// The payload has another size.
    ByteLengthMismatch,
    /// The payload has another content.
    Sha256Mismatch,
    /// The payload is no JSON.
    InvalidJson,
    /// Payloads refer to payloads more than 32 times.
    MaxDepthExceeded,
    /// The payloads of one line have more than 64 MiB.
    MaxTotalBytesExceeded,
}

impl PayloadErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidReference => "INVALID_REFERENCE",
            Self::OutsideRoot => "OUTSIDE_ROOT",
            Self::NotFound => "PAYLOAD_NOT_FOUND",
            Self::Unreadable => "PAYLOAD_UNREADABLE",
            Self::ByteLengthMismatch => "BYTE_LENGTH_MISMATCH",
            Self::Sha256Mismatch => "SHA256_MISMATCH",
            Self::InvalidJson => "INVALID_JSON",
            Self::MaxDepthExceeded => "MAX_DEPTH_EXCEEDED",
            Self::MaxTotalBytesExceeded => "MAX_TOTAL_BYTES_EXCEEDED",
        }
    }

    /// Whether the log cannot have meant a payload: then the value stays as it is.
    pub(super) const fn is_of_reference(self) -> bool {
        matches!(self, Self::InvalidReference | Self::OutsideRoot)
    }

    const fn told(self) -> &'static str {
        match self {
            Self::InvalidReference => "no payload can be found by it",
            Self::OutsideRoot => "it is not in the payload folder of the session",
            Self::NotFound => "it is missing",
            Self::Unreadable => "it cannot be read",
            Self::ByteLengthMismatch => "it has another size",
            Self::Sha256Mismatch => "it has another content",
            Self::InvalidJson => "it is no JSON",
            Self::MaxDepthExceeded => "payloads refer to payloads too often",
            Self::MaxTotalBytesExceeded => "the payloads of the line are too large together",
        }
    }
}

/// Why a payload cannot stand in its place again.
#[derive(Debug, thiserror::Error)]
#[error("payload {sha256}, {byte_length} bytes: {}: {}{}", kind.code(), kind.told(), because(source.as_ref()))]
pub struct PayloadError {
    kind: PayloadErrorKind,
    sha256: String,
    byte_length: u64,
    source: Option<io::Error>,
}

impl PayloadError {
    /// There is no such payload.
    #[must_use]
    pub fn not_found(reference: &PayloadReference) -> Self {
        Self::new(PayloadErrorKind::NotFound, reference)
    }

    /// The payload cannot be read, because of `source`.
    #[must_use]
    pub fn unreadable(reference: &PayloadReference, source: io::Error) -> Self {
        Self { source: Some(source), ..Self::new(PayloadErrorKind::Unreadable, reference) }
    }

    pub(super) fn new(kind: PayloadErrorKind, reference: &PayloadReference) -> Self {
        let (sha256, byte_length) = (reference.sha256.clone(), reference.byte_length);
        Self { kind, sha256, byte_length, source: None }
    }

    /// A reference of `length` bytes whose `sha256`, as JSON, may be anything.
    pub(super) fn invalid(sha256: &str, length: usize) -> Self {
        let sha256 = sha256.chars().take(70).collect();
        Self { kind: PayloadErrorKind::InvalidReference, sha256, byte_length: length as u64, source: None }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> PayloadErrorKind {
        self.kind
    }

    /// The SHA-256 that the reference names.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What stands in the place of the payload, as JSON; `None` when the reference stays.
    pub(super) fn placeholder(&self) -> Option<Vec<u8>> {
        let Self { kind, sha256, byte_length, .. } = self;
        // Names of payloads are hexadecimal digits by now, so nothing has to be escaped.
        let told = || format!("\"[missing: {byte_length} bytes, payload {sha256}]\"").into_bytes();
        (!kind.is_of_reference()).then(told)
    }
}

fn because(source: Option<&io::Error>) -> String {
    source.map(|source| format!(": {source}")).unwrap_or_default()
}
