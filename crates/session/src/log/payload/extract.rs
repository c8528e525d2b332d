//! Takes large fields out of a line that is about to be written.

use std::fmt::Write as _;

use robota_core::SessionId;
use sha2::{Digest, Sha256};

use super::rewrite::rewrite;
use super::{ENVELOPE, INLINE_LIMIT, PayloadReference, has_references};

/// A field that stands in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Payload {
    /// SHA-256 of `json` in small hexadecimal digits: its name.
    pub sha256: String,
    /// The field as JSON, secrets taken out.
    pub json: Vec<u8>,
}

impl Payload {
    /// The payload with the content `json`.
    #[must_use]
    pub fn new(json: Vec<u8>) -> Self {
        Self { sha256: sha256(&json), json }
    }
}

/// The SHA-256 of `bytes` in small hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// `line` with references in the place of its large fields, each of which goes to `put`; `None` when it
/// stays as it is, which costs one look for most lines.
pub(crate) fn extract(line: &[u8], session: &SessionId, mut put: impl FnMut(Payload)) -> Option<Vec<u8>> {
    if line.len() <= INLINE_LIMIT && !has_references(line) {
        return None;
    }
    rewrite(line, &ENVELOPE, |value| {
        // What looks like a reference must not be read as one.
        let stands_apart = value.len() > INLINE_LIMIT || PayloadReference::read(value).is_some();
        stands_apart.then(|| {
            let payload = Payload::new(value.to_vec());
            let reference = PayloadReference::to(&payload, session).to_json();
            put(payload);
            reference
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn taken_out(line: &Value) -> (Option<Value>, Vec<Value>) {
        let mut payloads = Vec::new();
        let text = line.to_string();
        let line = extract(text.as_bytes(), &"s".parse().unwrap(), |payload| {
            payloads.push(serde_json::from_slice(&payload.json).unwrap());
        });
        (line.map(|line| serde_json::from_slice(&line).unwrap()), payloads)
    }

    #[test]
    fn the_innermost_large_fields_leave_the_line_and_its_envelope_does_not() {
        let text = "x".repeat(INLINE_LIMIT);
        let many = vec!["0123456789"; INLINE_LIMIT / 10];
        let line =
            json!({"seq": 1, "event": text, "message": {"content": text, "id": "m"}, "list": {"many": many}});
        let (line, payloads) = taken_out(&line);
        let line = line.unwrap();
        assert_eq!(payloads, [json!(text), json!(many)]);
        assert_eq!(
            (&line["seq"], &line["event"], &line["message"]["id"]),
            (&json!(1), &json!(text), &json!("m"))
        );
        for reference in [&line["message"]["content"], &line["list"]["many"]] {
            assert_eq!(reference["kind"], "external-payload");
        }
    }

    #[test]
    fn exactly_the_limit_stays() {
        let fits = json!({"a": "x".repeat(INLINE_LIMIT - 2), "b": "y"});
        assert_eq!(taken_out(&fits), (None, Vec::new()));
    }

    #[test]
    fn what_looks_like_a_reference_is_taken_out_however_small() {
        let reference = PayloadReference::to(&Payload::new(b"1".to_vec()), &"s".parse().unwrap());
        let lookalike: Value = serde_json::from_slice(&reference.to_json()).unwrap();
        let (_, payloads) = taken_out(&json!({"event": "x", "result": {"a": [lookalike]}}));
        assert_eq!(payloads, std::slice::from_ref(&lookalike));
        assert_eq!(taken_out(&json!({"event": "x", "text": lookalike.to_string()})), (None, Vec::new()));
    }
}
