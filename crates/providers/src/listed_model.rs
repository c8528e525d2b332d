//! Models as the APIs themselves list them.

/// A model that a provider offers. What its list does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ListedModel {
    /// The id to ask for.
    pub id: String,
    /// What people call it.
    pub name: Option<String>,
    /// The most tokens a request and its answer may have together.
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    pub max_output_tokens: Option<u64>,
}

/// A part of a list of models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelPage {
    pub(crate) models: Vec<ListedModel>,
    /// What to ask the next part with; `None` after the last.
    pub(crate) next: Option<String>,
}
