//! The vendors that need no profile: their variables and their default models, in one table.

use secrecy::SecretString;

use super::{Credential, ProviderSetupError, is_loopback};
use crate::{Environment, Variable};

/// The model used with Anthropic when nothing names one.
pub const DEFAULT_ANTHROPIC_MODEL: &str = "claude-sonnet-4-5";

/// The model used with OpenAI when nothing names one.
pub const DEFAULT_OPENAI_MODEL: &str = "gpt-4.1";

/// What the environment says about a vendor, and what holds when it says nothing.
pub(super) struct Vendor {
    pub(super) kind: &'static str,
    pub(super) key_variable: Variable,
    pub(super) token_variable: Option<Variable>,
    pub(super) base_url_variable: Variable,
    pub(super) model_variable: Variable,
    pub(super) default_model: &'static str,
}

impl Vendor {
    /// In the order in which they are looked for.
    pub(super) const ALL: &'static [Self] = &[
        Self {
            kind: "anthropic",
            key_variable: Variable::ANTHROPIC_API_KEY,
            token_variable: Some(Variable::ANTHROPIC_AUTH_TOKEN),
            base_url_variable: Variable::ANTHROPIC_BASE_URL,
            model_variable: Variable::ANTHROPIC_MODEL,
            default_model: DEFAULT_ANTHROPIC_MODEL,
        },
        Self {
            kind: "openai",
            key_variable: Variable::OPENAI_API_KEY,
            token_variable: None,
            base_url_variable: Variable::OPENAI_BASE_URL,
            model_variable: Variable::OPENAI_MODEL,
            default_model: DEFAULT_OPENAI_MODEL,
        },
    ];

    pub(super) fn of_kind(kind: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|vendor| vendor.kind == kind)
    }

    /// Whether the environment alone is enough to reach it.
    pub(super) fn is_set_up(&self, environment: &Environment) -> bool {
        self.credential(environment).is_some()
            || environment.get(self.base_url_variable).is_some_and(is_loopback)
    }

    /// What the environment has to prove who is asking, and the variable it is in.
    pub(super) fn credential(&self, environment: &Environment) -> Option<(Credential, String)> {
        let secret = |variable: Variable| environment.get(variable).map(SecretString::from);
        let key = secret(self.key_variable).map(|key| (Credential::ApiKey(key), self.key_variable));
        let token = || {
            let variable = self.token_variable?;
            Some((Credential::BearerToken(secret(variable)?), variable))
        };
        key.or_else(token).map(|(credential, variable)| (credential, variable.name.to_owned()))
    }

    /// The address that the environment names, and the variable it is in.
    pub(super) fn base_url(
        &self,
        environment: &Environment,
    ) -> Result<Option<(String, String)>, ProviderSetupError> {
        let variable = self.base_url_variable.name;
        match environment.get(self.base_url_variable) {
            None => Ok(None),
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                Ok(Some((url.to_owned(), variable.to_owned())))
            }
            Some(url) => Err(ProviderSetupError::InvalidAddress { variable, value: url.to_owned() }),
        }
    }
}
