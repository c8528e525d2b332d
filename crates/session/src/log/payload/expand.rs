//! Puts payloads back in their place in a line.

use robota_core::SessionId;
use serde::de::IgnoredAny;

use super::extract::sha256;
use super::reference::KIND;
use super::rewrite::rewrite;
use super::{ENVELOPE, PayloadError, PayloadErrorKind, PayloadReference};

/// How often payloads may refer to payloads.
const MAX_DEPTH: usize = 32;
/// How many bytes of payloads one line may bring together.
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;

/// Where the payloads of one session are.
pub trait PayloadSource: Send + Sync {
    /// Reads a payload; blocks while it does. Size and hash are checked by the reader of the log, and so
    /// is that the reference names the right place. No more than `byte_length` and one further byte need
    /// be delivered.
    ///
    /// # Errors
    ///
    /// [`PayloadError::not_found`], [`PayloadError::unreadable`].
    fn read(&self, reference: &PayloadReference) -> Result<Vec<u8>, PayloadError>;
}

/// Whether there may be references in `line`. Text that has some in it does not count: there the quotes
/// are escaped.
pub(in crate::log) fn has_references(line: &[u8]) -> bool {
    str::from_utf8(line).is_ok_and(|line| line.contains(KIND))
}

/// `line`, of the log of `session`, with its payloads in place of the references; `None` when it stays as
/// it is. Each payload that cannot be had goes to `report`; where the log meant one, a text says so in its place.
pub(crate) fn expand(
    line: &[u8],
    session: &SessionId,
    source: &dyn PayloadSource,
    report: impl FnMut(PayloadError),
) -> Option<Vec<u8>> {
    if !has_references(line) {
        return None;
    }
    Expansion { session, source, report, read: 0 }.expand(line, &ENVELOPE, 0)
}

struct Expansion<'a, F> {
    session: &'a SessionId,
    source: &'a dyn PayloadSource,
    report: F,
    /// Bytes of payloads so far.
    read: u64,
}

impl<F: FnMut(PayloadError)> Expansion<'_, F> {
    fn expand(&mut self, json: &[u8], keep: &[&str], depth: usize) -> Option<Vec<u8>> {
        rewrite(json, keep, |value| {
            let reference = PayloadReference::read(value)?;
            match reference.and_then(|reference| self.payload(&reference, depth + 1)) {
                Ok(payload) => Some(payload),
                Err(error) => {
                    let placeholder = error.placeholder();
                    (self.report)(error);
                    placeholder
                }
            }
        })
    }

    /// The payload with its own payloads in place.
    fn payload(&mut self, reference: &PayloadReference, depth: usize) -> Result<Vec<u8>, PayloadError> {
        let refuse = |kind| Err(PayloadError::new(kind, reference));
        if !reference.is_of(self.session) {
            return refuse(PayloadErrorKind::OutsideRoot);
        }
        if depth > MAX_DEPTH {
            return refuse(PayloadErrorKind::MaxDepthExceeded);
        }
        let read = self.read.saturating_add(reference.byte_length);
        if read > MAX_TOTAL_BYTES {
            return refuse(PayloadErrorKind::MaxTotalBytesExceeded);
        }
        let json = self.source.read(reference)?;
        self.read = read;
        if json.len() as u64 != reference.byte_length {
            return refuse(PayloadErrorKind::ByteLengthMismatch);
        }
        if sha256(&json) != reference.sha256 {
            return refuse(PayloadErrorKind::Sha256Mismatch);
        }
        if str::from_utf8(&json).map_or(true, |json| serde_json::from_str::<IgnoredAny>(json).is_err()) {
            return refuse(PayloadErrorKind::InvalidJson);
        }
        if !has_references(&json) {
            return Ok(json);
        }
        Ok(self.expand(&json, &[], depth).unwrap_or(json))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};

    use super::super::{Payload, extract};
    use super::*;

    #[derive(Default)]
    struct Kept(HashMap<String, Vec<u8>>);

    impl Kept {
        fn put(&mut self, json: &[u8]) -> Value {
            let payload = Payload::new(json.to_vec());
            let reference = PayloadReference::to(&payload, &session()).to_json();
            self.0.insert(payload.sha256, payload.json);
            serde_json::from_slice(&reference).unwrap()
        }

        fn expanded(&self, line: &Value) -> (Value, Vec<PayloadErrorKind>) {
            let (text, mut errors) = (line.to_string(), Vec::new());
            let out = expand(text.as_bytes(), &session(), self, |error| errors.push(error.kind()));
            let out = out.map_or_else(|| line.clone(), |out| serde_json::from_slice(&out).unwrap());
            (out, errors)
        }
    }

    impl PayloadSource for Kept {
        fn read(&self, reference: &PayloadReference) -> Result<Vec<u8>, PayloadError> {
            self.0.get(&reference.sha256).cloned().ok_or_else(|| PayloadError::not_found(reference))
        }
    }

    fn session() -> SessionId {
        "s".parse().unwrap()
    }

    #[test]
    fn what_was_taken_out_comes_back_whatever_it_is() {
        let lookalike = Kept::default().put(b"1");
        let inner = vec![json!({"text": "ü\"\\\n".repeat(10_000), "same": lookalike, "float": 0.1}); 3];
        let many = vec![json!({"text": "ü\"\\\n".repeat(10), "same": lookalike, "float": 0.1}); 1000];
        for line in [
            json!({"event": "x", "a": "x".repeat(100_000), "b": ["x".repeat(100_000), 1.5e-7]}),
            json!({"event": "x", "a": {"b": inner, "c": many, "event": "y".repeat(40_000)}}),
            json!({"event": "x", "a": lookalike}),
        ] {
            let (text, mut kept) = (line.to_string(), Kept::default());
            let put = |payload: Payload| drop(kept.0.insert(payload.sha256, payload.json));
            let short = extract(text.as_bytes(), &session(), put).unwrap();
            assert!(short.len() < 4_000);
            let out = expand(&short, &session(), &kept, |error| panic!("{error}")).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn a_payload_that_is_not_what_it_should_be_is_named_and_its_place_kept() {
        let mut kept = Kept::default();
        let [good, gone, long, other, no_json] = ["\"good\"", "\"gone\"", "\"long\"", "\"else\"", "{no json"]
            .map(|json| kept.put(json.as_bytes()));
        let name = |reference: &Value| reference["sha256"].as_str().unwrap().to_owned();
        kept.0.remove(&name(&gone));
        kept.0.insert(name(&long), b"\"longer\"".to_vec());
        kept.0.insert(name(&other), b"\"text\"".to_vec());
        let large = |reference: &Value| {
            let mut large = reference.clone();
            large["byteLength"] = json!(MAX_TOTAL_BYTES);
            large
        };
        let missing = |reference: &Value| {
            json!(format!("[missing: {} bytes, payload {}]", reference["byteLength"], name(reference)))
        };
        let (large, lost) = (large(&good), [&gone, &long, &other, &no_json]);
        let line = json!({"event": "x", "all": [good, lost, large]});
        let (out, errors) = kept.expanded(&line);
        assert_eq!(out, json!({"event": "x", "all": ["good", lost.map(missing), missing(&large)]}));
        use PayloadErrorKind::{
            ByteLengthMismatch, InvalidJson, MaxTotalBytesExceeded, NotFound, Sha256Mismatch,
        };
        let expected = [NotFound, ByteLengthMismatch, Sha256Mismatch, InvalidJson, MaxTotalBytesExceeded];
        assert_eq!(errors, expected);
    }

    #[test]
    fn what_the_log_cannot_have_meant_stays_as_it_is() {
        let mut kept = Kept::default();
        let good = kept.put(b"\"good\"");
        let with = |field: &str, value: Value| {
            let mut other = good.clone();
            other[field] = value;
            other
        };
        let elsewhere = with("relativePath", json!("../../etc/passwd"));
        let nameless = with("sha256", json!("../../etc/passwd"));
        let line = json!({"event": good, "a": [elsewhere, nameless], "text": good.to_string()});
        let (out, errors) = kept.expanded(&line);
        assert_eq!(out, line);
        assert_eq!(errors, [PayloadErrorKind::OutsideRoot, PayloadErrorKind::InvalidReference]);
    }

    #[test]
    fn payloads_within_payloads_have_a_limit() {
        let mut kept = Kept::default();
        let mut reference = kept.put(b"\"end\"");
        for depth in 1..=MAX_DEPTH {
            let (_, errors) = kept.expanded(&json!({"event": "x", "a": reference}));
            assert_eq!(errors, [], "{depth}");
            reference = kept.put(json!([reference]).to_string().as_bytes());
        }
        let (_, errors) = kept.expanded(&json!({"event": "x", "a": reference}));
        assert_eq!(errors, [PayloadErrorKind::MaxDepthExceeded]);
    }
}
