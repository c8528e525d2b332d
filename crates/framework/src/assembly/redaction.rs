//! Keeps credentials out of logs and snapshots.

use std::borrow::Cow;
use std::sync::Arc;

use robota_core::Redactor;
use robota_session::LineFilter;
use secrecy::{ExposeSecret, SecretString};

/// Shorter credentials are placeholders such as `none`, and would turn up in ordinary words.
const SHORTEST: usize = 8;

/// A filter that replaces `secrets` wherever they turn up, and whatever stands under the key of a
/// secret, such as `apiKey`.
///
/// Messages come through it whole: the arguments of a tool call are text in the log, and keys within
/// text do not count.
pub(super) fn filter(secrets: &[SecretString]) -> LineFilter {
    let redactor = Redactor::new(secrets.iter().map(ExposeSecret::expose_secret));
    Arc::new(move |line: &mut Vec<u8>| {
        let Ok(text) = str::from_utf8(line) else { return };
        if let Cow::Owned(redacted) = redactor.redact_line(text) {
            *line = redacted.into_bytes();
        }
    })
}

/// Whether the credential is one, and not a placeholder.
pub(super) fn is_telling(secret: &SecretString) -> bool {
    secret.expose_secret().len() >= SHORTEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_replaced_by_value_and_by_key_and_placeholders_are_not() {
        let secrets = ["sk-ant-12345678", "12345678", "none", "pass\\word"].map(SecretString::from);
        let filter = filter(&secrets);
        let mut line = br#"{"a":"sk-ant-12345678 12345678 none","b":"pass\\word","apiKey":"x"}"#.to_vec();
        filter(&mut line);
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"a":"[REDACTED] [REDACTED] none","b":"[REDACTED]","apiKey":"[REDACTED]"}"#);
    }
}
