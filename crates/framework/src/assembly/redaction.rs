//! Keeps credentials out of logs and snapshots.

use robota_core::Redactor;
use robota_session::{LineFilter, redacting_filter};
use secrecy::{ExposeSecret, SecretString};

/// Shorter credentials are placeholders such as `none`, and would turn up in ordinary words.
const SHORTEST: usize = 8;

/// A filter that replaces `secrets` wherever they turn up, and whatever stands under the key of a
/// secret, such as `apiKey`.
pub(super) fn filter(secrets: &[SecretString]) -> LineFilter {
    redacting_filter(Redactor::new(secrets.iter().map(ExposeSecret::expose_secret)))
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
        assert!(filter(&mut line));
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"a":"[REDACTED] [REDACTED] none","b":"[REDACTED]","apiKey":"[REDACTED]"}"#);
    }
}
