//! What is known of a provider before one is set up: names, places and defaults, as data.

/// One kind of provider, as users choose it (facts sheet 2.4, provider definition). A composition root hands these to
/// whatever resolves profiles, so that no other crate names a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, written as tables")]
pub struct ProviderDefinition {
    /// The name users write as `type` of a profile, and the id the provider has, such as `anthropic`.
    pub kind: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The vendor's name, for people.
    pub name: &'static str,
    /// Who runs it.
    pub category: ProviderCategory,
    /// Its address when nobody says otherwise; `None` where one has to be given.
    pub base_url: Option<&'static str>,
    /// Variables in which users keep the key; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// The variable for a bearer token in place of a key, where there is one.
    pub token_variable: Option<&'static str>,
    /// The variable for another address.
    pub base_url_variable: &'static str,
    /// The variable for the model.
    pub model_variable: &'static str,
    /// The model when nothing names one.
    pub default_model: Option<&'static str>,
    /// Where a person gets a key, or the program; an address.
    pub help: &'static str,
}

/// Who runs a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderCategory {
    /// A vendor of models; wants a key.
    Cloud,
    /// Somebody who passes requests on to vendors; wants a key.
    Gateway,
    /// A server of the user's own; mostly without a key.
    Local,
}

impl ProviderDefinition {
    /// Whether `name` is the kind or one of its aliases.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.kind == name || self.aliases.contains(&name)
    }

    /// The variable to name where a key is missing.
    #[must_use]
    pub fn key_variable(&self) -> Option<&'static str> {
        self.key_variables.first().copied()
    }
}
