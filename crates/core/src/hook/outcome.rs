//! What hooks say.

/// What all hooks of one event say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookOutcome {
    /// A hook stops what was about to happen, for this reason.
    pub block: Option<String>,
    /// Text for the model.
    pub additional_context: Vec<String>,
    /// Text for the person.
    pub system_messages: Vec<String>,
}

impl HookOutcome {
    /// An outcome that stops what was about to happen.
    #[must_use]
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// An outcome that adds text for the model.
    #[must_use]
    pub fn context(text: impl Into<String>) -> Self {
        Self { additional_context: vec![text.into()], ..Self::default() }
    }

    /// True when no hook had anything to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
