//! What stands in a line in the place of a payload.

use robota_core::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Payload, PayloadError};

/// What `kind` says in every reference, as JSON.
pub(super) const KIND: &str = r#""external-payload""#;
/// Longer objects are no references: an id has at most 128 characters, a path little more.
const LONGEST: usize = 4096;

/// Where a field that is not in its line stands: `{kind: "external-payload", encoding: "json", sha256,
/// byteLength, relativePath}` (facts sheet 4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PayloadReference {
    /// SHA-256 of the payload, in small hexadecimal digits.
    pub sha256: String,
    /// Size of the payload in bytes.
    pub byte_length: u64,
    /// Where it is, seen from the folder of the log: `{session}.payloads/{sha256}.json`.
    pub relative_path: String,
}

impl PayloadReference {
    /// The reference to `payload` in the log of `session`.
    pub(super) fn to(payload: &Payload, session: &SessionId) -> Self {
        let Payload { sha256, json } = payload;
        let relative_path = place(session, sha256);
        Self { sha256: sha256.clone(), byte_length: json.len() as u64, relative_path }
    }

    /// Whether the log of `session` keeps the payload where this says it is.
    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.relative_path == place(session, &self.sha256)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            kind: &'a str,
            encoding: &'a str,
            sha256: &'a str,
            byte_length: u64,
            relative_path: &'a str,
        }
        let Self { sha256, byte_length, relative_path } = self;
        let (kind, encoding, byte_length) = ("external-payload", "json", *byte_length);
        // Strings and a number cannot fail to serialise.
        serde_json::to_vec(&Written { kind, encoding, sha256, byte_length, relative_path })
            .unwrap_or_default()
    }

    /// The reference that `value` is; `None` when it is something else, that is when it does not have
    /// exactly the five keys and the right `kind`.
    ///
    /// # Errors
    ///
    /// When it is a reference that nothing can be found by.
    pub(super) fn read(value: &[u8]) -> Option<Result<Self, PayloadError>> {
        let inner = value.strip_prefix(b"{").filter(|inner| inner.len() < LONGEST)?;
        // With an object in it, it is none. Seen at once, so that looking at nested objects stays cheap.
        if inner.contains(&b'{') {
            return None;
        }
        let fields: Fields<'_> = serde_json::from_slice(value).ok()?;
        (fields.kind.get() == KIND).then(|| {
            let reference = fields.reference();
            reference.ok_or_else(|| PayloadError::invalid(fields.sha256.get(), value.len()))
        })
    }
}

fn place(session: &SessionId, sha256: &str) -> String {
    format!("{session}.payloads/{sha256}.json")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow)]
    encoding: &'a RawValue,
    #[serde(borrow)]
    sha256: &'a RawValue,
    #[serde(borrow)]
    byte_length: &'a RawValue,
    #[serde(borrow)]
    relative_path: &'a RawValue,
}

impl Fields<'_> {
    fn reference(&self) -> Option<PayloadReference> {
        let sha256: String = serde_json::from_str(self.sha256.get()).ok()?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = self.encoding.get() == r#""json""# && sha256.len() == 64 && sha256.bytes().all(is_digit);
        let byte_length = serde_json::from_str(self.byte_length.get()).ok()?;
        let relative_path = serde_json::from_str(self.relative_path.get()).ok()?;
        fits.then_some(PayloadReference { sha256, byte_length, relative_path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PayloadErrorKind;

    #[test]
    fn exactly_the_five_fields_make_a_reference() {
        let session = "s".parse().unwrap();
        let reference = PayloadReference::to(&Payload::new(b"[1]".to_vec()), &session);
        let json = String::from_utf8(reference.to_json()).unwrap();
        let expected = format!(
            r#"{{"kind":"external-payload","encoding":"json","sha256":"{0}","byteLength":3,"relativePath":"s.payloads/{0}.json"}}"#,
            reference.sha256
        );
        assert_eq!(json, expected);
        assert_eq!(PayloadReference::read(json.as_bytes()).unwrap().unwrap(), reference);
        assert!(reference.is_of(&session) && !reference.is_of(&"t".parse().unwrap()));

        let read = |from: &str, to: &str| {
            let read = PayloadReference::read(json.replacen(from, to, 1).as_bytes());
            read.map(|read| read.map_err(|error| error.kind()))
        };
        for (from, to) in [
            ("external-payload", "payload"),
            ("{", r#"{"more":1,"#),
            (r#""encoding":"json","#, ""),
            (r#""byteLength":3"#, r#""byteLength":3,"byteLength":3"#),
            (r#""byteLength":3"#, r#""byteLength":{}"#),
        ] {
            assert_eq!(read(from, to), None, "{to}");
        }
        for (from, to) in [
            (r#""json""#, r#""yaml""#),
            (r#""byteLength":3"#, r#""byteLength":"3""#),
            (r#""sha256":""#, r#""sha256":"../"#),
            (r#""relativePath":"s"#, r#""relativePath":"\ud800"#),
        ] {
            assert_eq!(read(from, to), Some(Err(PayloadErrorKind::InvalidReference)), "{to}");
        }
    }
}
