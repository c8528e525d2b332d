//! Providers by name, for programs that take the choice from a user.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use robota_core::{Provider, ProviderError};
use secrecy::SecretString;

use crate::connection::{ConnectionOptions, Vendor};
use crate::{
    AnthropicOptions, HttpProvider, MaxTokensField, OpenAiOptions, RetryPolicy, Retrying, anthropic, openai,
};

/// The model APIs this crate speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and every server that speaks it.
    OpenAi,
}

impl ProviderKind {
    /// All of them, the usual one first.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// The name users write, and the id the provider has: `anthropic`, `openai`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The vendor's name, for people.
    #[must_use]
    pub const fn vendor(self) -> &'static str {
        self.data().name
    }

    /// The environment variable in which users keep the key.
    #[must_use]
    pub const fn key_variable(self) -> &'static str {
        self.data().key_variable
    }

    /// The environment variable for a bearer token in place of a key, where there is one.
    #[must_use]
    pub const fn auth_token_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some(anthropic::TOKEN_VARIABLE),
            Self::OpenAi => None,
        }
    }

    /// The environment variable for another base URL.
    #[must_use]
    pub const fn base_url_variable(self) -> &'static str {
        self.data().base_url_variable
    }

    /// The vendor's own base URL.
    #[must_use]
    pub const fn default_base_url(self) -> &'static str {
        self.data().base_url
    }

    const fn data(self) -> &'static Vendor {
        match self {
            Self::Anthropic => &anthropic::VENDOR,
            Self::OpenAi => &openai::VENDOR,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A name that is no provider's.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no provider; there are {}", ProviderKind::ALL.map(ProviderKind::id).join(" and "))]
pub struct UnknownProvider {
    name: String,
}

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        let known = Self::ALL.into_iter().find(|kind| kind.id() == name);
        known.ok_or_else(|| UnknownProvider { name: name.to_owned() })
    }
}

/// A provider as settings describe it. What is `None` keeps the default of its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderSpec {
    /// Which API.
    pub kind: ProviderKind,
    /// Key of the API.
    pub api_key: Option<SecretString>,
    /// Bearer token; only [`ProviderKind::Anthropic`] tells it from a key, for others it is the key
    /// when there is no other.
    pub auth_token: Option<SecretString>,
    /// Most output tokens of requests that do not say.
    pub default_max_output_tokens: Option<u32>,
    /// Address, timeouts and extras.
    pub connection: ConnectionOptions,
    /// How failed calls are retried.
    pub retry: RetryPolicy,
}

impl ProviderSpec {
    /// The vendor's own endpoint of `kind`, without a key yet.
    #[must_use]
    pub fn new(kind: ProviderKind) -> Self {
        Self {
            kind,
            api_key: None,
            auth_token: None,
            default_max_output_tokens: None,
            connection: ConnectionOptions::default(),
            retry: RetryPolicy::default(),
        }
    }

    /// The provider alone, without retries. For programs that want to [warm it
    /// up](HttpProvider::warm_up) or wrap it themselves.
    ///
    /// # Errors
    ///
    /// `Configuration`, when the vendor's own endpoint has no key, or an option cannot be used.
    pub fn connect(self) -> Result<HttpProvider, ProviderError> {
        let Self { kind, api_key, auth_token, default_max_output_tokens, connection, .. } = self;
        match kind {
            ProviderKind::Anthropic => {
                let usual = AnthropicOptions::default();
                HttpProvider::anthropic(AnthropicOptions {
                    api_key,
                    auth_token,
                    default_max_output_tokens: default_max_output_tokens
                        .unwrap_or(usual.default_max_output_tokens),
                    connection,
                })
            }
            ProviderKind::OpenAi => HttpProvider::openai(OpenAiOptions {
                api_key: api_key.or(auth_token),
                default_max_output_tokens,
                max_tokens_field: MaxTokensField::default(),
                inline_markup: None,
                connection,
            }),
        }
    }
}

/// The provider of `spec`, with its retries.
///
/// For an `https` address the HTTP client is built at the same time on a thread that ends with that,
/// so that a program's start does not wait for it.
///
/// # Errors
///
/// `Configuration`, when the vendor's own endpoint has no key, or an option cannot be used.
pub fn build(spec: ProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
    let retry = spec.retry;
    let provider = spec.connect()?;
    if provider.url().starts_with("https:") {
        let early = provider.clone();
        // Without a thread to spare, the first call builds the client.
        let _ = std::thread::Builder::new().name("robota-http".into()).spawn(move || early.warm_up());
    }
    Ok(Arc::new(Retrying::new(Arc::new(provider), retry)))
}
