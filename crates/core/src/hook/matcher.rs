//! Which occurrences of an event a group of hooks is for.

/// Which occurrences of an event a group of hooks is for: by name of the tool, type of the agent, trigger,
/// source or reason, whatever the event has. An empty one is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookMatcher {
    text: String,
}

impl HookMatcher {
    /// Reads a matcher. A text that is no regular expression stands for itself.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// The matcher as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it fits `subject`.
    #[must_use]
    pub fn fits(&self, subject: &str) -> bool {
        matches!(self.text.as_str(), "" | "*") || self.text == subject
    }
}
