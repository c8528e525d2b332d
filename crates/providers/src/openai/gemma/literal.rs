//! A text that is read from the left.

/// What is left to read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a str);

/// How deep values may be nested.
pub(super) const MAX_DEPTH: usize = 64;

impl<'a> Cursor<'a> {
    /// Skips white space.
    pub(super) fn space(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Takes `text`, after white space, when it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        self.space();
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Takes everything up to `end`, and `end` itself.
    pub(super) fn until(&mut self, end: &str) -> Option<&'a str> {
        let (taken, rest) = self.0.split_once(end)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes characters as long as they are `wanted`.
    pub(super) fn all(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !wanted(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// Takes a name: letters, digits, `_`, `-` and `.`.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        self.space();
        let name = self.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        (!name.is_empty()).then_some(name)
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_done(&self) -> bool {
        self.0.trim_start().is_empty()
    }
}
