//! What events name in place of a history: its length and the chain over its mutations.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// SHA-256 over all mutations so far, each hashed together with the head before it.
///
/// Two histories with equal heads are equal; events refer to a history by its length and head
/// instead of repeating it (design section 5).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct HistoryHead([u8; 32]);

impl HistoryHead {
    /// The head after the JSON of one more mutation.
    pub(crate) fn after(self, mutation: &[u8]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(mutation).finalize().into())
    }
}

impl fmt::Display for HistoryHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for HistoryHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HistoryHead({self})")
    }
}

impl Serialize for HistoryHead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HistoryHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let mut head = [0; 32];
        for (at, byte) in head.iter_mut().enumerate() {
            *byte = digit(at * 2).ok_or_else(|| de::Error::custom("a head is 64 hex digits"))?;
        }
        if text.len() == 64 { Ok(Self(head)) } else { Err(de::Error::custom("a head is 64 hex digits")) }
    }
}

/// What events carry in place of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRef {
    /// Number of messages in the model's view.
    pub length: usize,
    /// The chain over all mutations.
    pub head: HistoryHead,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_from_its_hex_form() {
        let reference = HistoryRef { length: 1, head: HistoryHead::default().after(b"one") };
        let json = serde_json::to_string(&reference).unwrap();
        assert_eq!(serde_json::from_str::<HistoryRef>(&json).unwrap(), reference);
        assert!(serde_json::from_str::<HistoryHead>("\"abc\"").is_err());
    }
}
