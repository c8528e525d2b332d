//! Providers by name, for programs that take the choice from a user.

use std::sync::Arc;

use robota_core::{Provider, ProviderError};
use secrecy::SecretString;

use crate::connection::{ConnectionOptions, base_url, owns};
use crate::kind::ProviderKind;
use crate::openai_api::has_chat_alone;
use crate::options::{ApiSurface, ProviderOptions};
use crate::{
    CircuitBreaker, CircuitPolicy, Fallback, FallbackPolicy, HttpProvider, RetryPolicy, Retrying, anthropic,
    gemini, openai, responses,
};

/// A provider as settings describe it. What is `None` keeps the default of its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderSpec {
    /// Which API.
    pub kind: ProviderKind,
    /// Key of the API.
    pub api_key: Option<SecretString>,
    /// Bearer token; where an API does not tell it from a key, it is the key when there is no other.
    pub auth_token: Option<SecretString>,
    /// Most output tokens of requests that do not say.
    pub default_max_output_tokens: Option<u32>,
    /// Address and timeouts.
    pub connection: ConnectionOptions,
    /// What requests carry, and how the API is spoken.
    pub options: ProviderOptions,
    /// How failed calls are retried.
    pub retry: RetryPolicy,
    /// When the endpoint is left alone because there is no connection to it.
    pub circuit: CircuitPolicy,
    /// Models of the same endpoint that are asked, in this order, when the one of a request does not answer; none by
    /// default. For models of other providers, a program puts a [`Fallback`] around what it has built.
    pub fallback_models: Vec<String>,
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
            options: ProviderOptions::default(),
            retry: RetryPolicy::default(),
            circuit: CircuitPolicy::default(),
            fallback_models: Vec::new(),
        }
    }

    /// The provider alone, without retries. For programs that want to [warm it
    /// up](HttpProvider::warm_up) or wrap it themselves.
    ///
    /// # Errors
    ///
    /// `Configuration`, when the vendor's own endpoint has no key, or an option cannot be used.
    pub fn connect(self) -> Result<HttpProvider, ProviderError> {
        match self.kind {
            ProviderKind::Anthropic => anthropic::provider(self),
            ProviderKind::Gemini => gemini::provider(self),
            _ if self.speaks_responses() => responses::provider(self),
            _ => openai::provider(self),
        }
    }

    /// Whether Responses are spoken: as the options say, or else with OpenAI itself, with Azure where it has the API
    /// without versions, and with Qwen for its own web tools.
    fn speaks_responses(&self) -> bool {
        let Self { kind, connection, options, .. } = self;
        let base = || base_url(kind.definition(), connection);
        let usual = || match kind {
            ProviderKind::OpenAi => base().is_ok_and(|url| owns(kind.definition(), &url)),
            ProviderKind::Azure => {
                base().is_ok_and(|url| !has_chat_alone(&url, options.api_version.as_deref()))
            }
            ProviderKind::Qwen => !options.built_in_web_tools.is_empty(),
            _ => false,
        };
        options.api_surface.map_or_else(usual, |surface| surface == ApiSurface::Responses)
    }
}

/// The provider of `spec`, with its retries, its circuit breaker and its fallback models.
///
/// For an `https` address the HTTP client is built at the same time on a thread that ends with that,
/// so that a program's start does not wait for it.
///
/// # Errors
///
/// `Configuration`, when the vendor's own endpoint has no key, or an option cannot be used.
pub fn build(spec: ProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
    let (retry, circuit) = (spec.retry, spec.circuit);
    let fallback_models: Vec<Arc<str>> =
        spec.fallback_models.iter().map(|model| model.as_str().into()).collect();
    let provider = spec.connect()?;
    if provider.url().starts_with("https:") {
        let early = provider.clone();
        // Without a thread to spare, the first call builds the client.
        let _ = std::thread::Builder::new().name("robota-http".into()).spawn(move || early.warm_up());
    }
    let guarded = Arc::new(CircuitBreaker::new(Arc::new(provider), circuit));
    let retrying: Arc<dyn Provider> = Arc::new(Retrying::new(guarded, retry));
    if fallback_models.is_empty() {
        return Ok(retrying);
    }
    let others = fallback_models.into_iter().map(|model| (Arc::clone(&retrying), model));
    let policy =
        FallbackPolicy { restart_cut_streams: retry.restart_cut_streams, ..FallbackPolicy::default() };
    Ok(Arc::new(Fallback::new(Arc::clone(&retrying), others, policy)))
}
