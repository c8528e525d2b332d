//! Keeps secrets out of logs and snapshots.

use std::borrow::Cow;
use std::sync::Arc;

use robota_core::Redactor;

/// Changes a line of the log, or a snapshot, before it is stored: takes secrets out. It must leave
/// valid JSON without line breaks, and say whether it changed anything.
pub type LineFilter = Arc<dyn Fn(&mut Vec<u8>) -> bool + Send + Sync>;

/// A filter that takes out what `redactor` knows: with [`Redactor::default`] whatever stands under the
/// key of a secret, such as `apiKey`.
///
/// Messages come through the names of keys whole: the arguments of a tool call are text in the log, and
/// keys within text do not count.
#[must_use]
pub fn redacting_filter(redactor: Redactor) -> LineFilter {
    Arc::new(move |line: &mut Vec<u8>| {
        let Ok(text) = str::from_utf8(line) else { return false };
        let Cow::Owned(redacted) = redactor.redact_line(text) else { return false };
        *line = redacted.into_bytes();
        true
    })
}

/// Says in the line of an event that secrets were taken out of it ([`redacted`](robota_core::Event::redacted)).
pub(super) fn mark(line: &mut Vec<u8>) {
    if line.pop_if(|byte| *byte == b'}').is_some() {
        line.extend_from_slice(b",\"redacted\":true}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_by_value_and_by_key_and_the_line_says_so() {
        let filter = redacting_filter(Redactor::new(["sk-ant-12345678"]));
        let mut line = br#"{"a":"sk-ant-12345678","apiKey":"x"}"#.to_vec();
        assert!(filter(&mut line));
        mark(&mut line);
        let expected = r#"{"a":"[REDACTED]","apiKey":"[REDACTED]","redacted":true}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected);
        let mut harmless = br#"{"a":"b"}"#.to_vec();
        assert!(!filter(&mut harmless));
    }
}
