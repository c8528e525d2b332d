//! Keeps secrets out of logs and snapshots.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use robota_core::Redactor;

/// How much of a text is held back at most where nobody says what may begin a secret, in bytes.
const LONGEST_WORD: usize = 512;

/// How much of a text is held back at most because it begins a secret that is known, in bytes.
const LONGEST_BEGINNING: usize = 8 * 1024;

/// Changes a line of the log, or a snapshot, before it is stored: takes secrets out.
#[derive(Clone)]
pub struct LineFilter {
    apply: Arc<Apply>,
    settled: Option<Arc<Settled>>,
}

type Apply = dyn Fn(&mut Vec<u8>) -> bool + Send + Sync;
type Settled = dyn Fn(&str) -> usize + Send + Sync;

impl LineFilter {
    /// A filter that calls `apply` on each line. It must leave valid JSON without line breaks, and say whether
    /// it changed anything.
    ///
    /// Of a text that streams, the last word then waits for what follows it, 512 bytes at most, so that a secret that comes
    /// in pieces is not written; secrets have no blanks.
    #[must_use]
    pub fn new(apply: impl Fn(&mut Vec<u8>) -> bool + Send + Sync + 'static) -> Self {
        Self { apply: Arc::new(apply), settled: None }
    }

    /// The same filter, of which `settled` tells how much of a text that streams, in bytes, is no part of a
    /// secret whose rest is still to come; only what follows waits then, 8 KiB at most.
    #[must_use]
    pub fn with_settled(mut self, settled: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        self.settled = Some(Arc::new(settled));
        self
    }

    /// Changes `line`, and says whether anything had to be changed.
    #[must_use = "a changed line has to say so"]
    pub fn apply(&self, line: &mut Vec<u8>) -> bool {
        (self.apply)(line)
    }

    /// How much of `text` may be written although more may follow; `None` when too much would wait.
    pub(crate) fn settled(&self, text: &str) -> Option<usize> {
        let (settled, longest) = match &self.settled {
            Some(settled) => (settled(text).min(text.len()), LONGEST_BEGINNING),
            None => {
                let blank = text.char_indices().rfind(|(_, char)| char.is_whitespace());
                (blank.map_or(0, |(at, char)| at + char.len_utf8()), LONGEST_WORD)
            }
        };
        (text.len() - settled <= longest && text.is_char_boundary(settled)).then_some(settled)
    }
}

impl fmt::Debug for LineFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineFilter").finish_non_exhaustive()
    }
}

/// A filter that takes out what `redactor` knows: with [`Redactor::default`] whatever stands under the
/// key of a secret, such as `apiKey`.
///
/// Messages come through the names of keys whole: the arguments of a tool call are text in the log, and
/// keys within text do not count.
#[must_use]
pub fn redacting_filter(redactor: Redactor) -> LineFilter {
    let known = redactor.clone();
    let filter = LineFilter::new(move |line: &mut Vec<u8>| {
        let Ok(text) = str::from_utf8(line) else { return false };
        let Cow::Owned(redacted) = redactor.redact_line(text) else { return false };
        *line = redacted.into_bytes();
        true
    });
    filter.with_settled(move |text| known.settled(text))
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
        assert!(filter.apply(&mut line));
        mark(&mut line);
        let expected = r#"{"a":"[REDACTED]","apiKey":"[REDACTED]","redacted":true}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected);
        let mut harmless = br#"{"a":"b"}"#.to_vec();
        assert!(!filter.apply(&mut harmless));
    }

    #[test]
    fn only_what_may_begin_a_secret_waits() {
        let known = redacting_filter(Redactor::new(["sk-ant-12345678"]));
        assert_eq!((known.settled("half a wor"), known.settled("key: sk-ant-1")), (Some(10), Some(5)));
        let unknown = LineFilter::new(|_| false);
        assert_eq!((unknown.settled("half a wor"), unknown.settled(&"x".repeat(513))), (Some(7), None));
    }
}
