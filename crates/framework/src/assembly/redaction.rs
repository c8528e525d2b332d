//! Keeps credentials out of logs and snapshots, by their value.

use std::sync::Arc;

use robota_session::LineFilter;
use secrecy::{ExposeSecret, SecretString};

/// Shorter credentials are placeholders such as `none`, and would turn up in ordinary words.
const SHORTEST: usize = 8;

/// What stands in the place of a credential.
const MARK: &str = "[redacted]";

/// A filter that replaces `secrets` wherever they turn up; `None` when there is nothing to hide.
pub(super) fn filter(secrets: &[SecretString]) -> Option<LineFilter> {
    let mut hidden: Vec<String> = secrets
        .iter()
        .filter(|secret| is_telling(secret))
        .map(|secret| in_json(secret.expose_secret()))
        .collect();
    // The longest first: one may be part of another.
    hidden.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    hidden.dedup();
    if hidden.is_empty() {
        return None;
    }
    Some(Arc::new(move |line: &mut Vec<u8>| {
        for secret in &hidden {
            let replaced = match str::from_utf8(line) {
                Ok(text) if text.contains(secret.as_str()) => text.replace(secret.as_str(), MARK),
                _ => continue,
            };
            *line = replaced.into_bytes();
        }
    }))
}

/// Whether the credential is one, and not a placeholder.
pub(super) fn is_telling(secret: &SecretString) -> bool {
    secret.expose_secret().len() >= SHORTEST
}

/// The text as it stands within a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_replaced_in_their_json_form_and_placeholders_are_not() {
        let secrets = ["sk-ant-12345678", "12345678", "none", "pass\\word"].map(SecretString::from);
        let filter = filter(&secrets).unwrap();
        let mut line = br#"{"a":"sk-ant-12345678 12345678 none","b":"pass\\word"}"#.to_vec();
        filter(&mut line);
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"a":"[redacted] [redacted] none","b":"[redacted]"}"#);
    }
}
