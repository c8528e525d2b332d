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

    pub(super) fn credential(&self, environment: &Environment) -> Option<Credential> {
        let key = environment.get(self.key_variable).map(|key| Credential::ApiKey(SecretString::from(key)));
        let token = || {
            environment
                .get(self.token_variable?)
                .map(|token| Credential::BearerToken(SecretString::from(token)))
        };
        key.or_else(token)
    }

    pub(super) fn base_url(&self, environment: &Environment) -> Result<Option<String>, ProviderSetupError> {
        let Some(url) = environment.get(self.base_url_variable) else { return Ok(None) };
        if url.starts_with("http://") || url.starts_with("https://") {
            Ok(Some(url.to_owned()))
        } else {
            let variable = self.base_url_variable.name;
            Err(ProviderSetupError::InvalidAddress { variable, value: url.to_owned() })
        }
    }
}
