//! Which model to talk to, where, and with which key: decided from flags, environment and settings.
//!
//! This crate knows no provider. It resolves what a composition root needs to construct one, by the definitions
//! that the root hands over.

mod choice;
mod endpoint;
mod error;
mod found;
mod key;
mod key_error;
mod listing;

use std::path::PathBuf;
use std::time::Duration;

use robota_core::ProviderDefinition;
use secrecy::SecretString;
use serde_json::Value;

pub use error::ProviderSetupError;
pub(crate) use key::KEYRING;
pub use key::{KeyReference, KeySources};
pub use key_error::KeyError;
pub use listing::{ListedProvider, ProviderOrigin, list_providers};

use crate::settings::{Format, ModelSetting, Settings};
use crate::{Environment, Variable};
use choice::{Chosen, choose};
use endpoint::endpoint;

/// How long a server may send nothing when no profile says otherwise (seed `001`, Settings
/// Configuration).
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// What the command line says about provider and model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ProviderOverrides {
    /// A profile of the settings, or the kind of a provider such as `openai`.
    pub provider: Option<String>,
    /// A model id.
    pub model: Option<String>,
    /// Models to go on with when the first is not to be had; empty leaves it to the profile.
    pub fallback_models: Vec<String>,
}

/// All that is needed to construct a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResolvedProvider {
    /// Name for people: the profile, or the kind when no profile is used.
    pub name: String,
    /// Implementation, such as `anthropic` or `openai`.
    pub kind: String,
    /// Model id.
    pub model: String,
    /// Models to go on with when that one is not to be had, the first one first.
    pub fallback_models: Vec<String>,
    /// How to prove who is asking; `None` for a service that asks for nothing, and as long as the key has to be
    /// [fetched](Self::fetch_key).
    pub credential: Option<Credential>,
    /// Where the key is to be fetched from, when it is not at hand.
    pub key_reference: Option<KeyReference>,
    /// Where that can be corrected, in words for a person: a variable, or a place in the settings. `None`
    /// when nothing says it.
    pub credential_source: Option<String>,
    /// Address of the service; `None` for the vendor's own.
    pub base_url: Option<String>,
    /// Where that can be corrected, in words for a person; `None` for the vendor's own.
    pub base_url_source: Option<String>,
    /// How long the server may send nothing.
    pub idle_timeout: Duration,
    /// Most output tokens of one answer; `None` leaves it to the model.
    pub max_output_tokens: Option<u32>,
    /// `options` of the profile: what only the provider understands, passed on as it is (seed `001`, Provider
    /// profile shape).
    pub options: Option<Value>,
    /// The files that describe the profile, lowest first; empty without one.
    pub files: Vec<PathBuf>,
}

/// What is sent to a service to prove who is asking.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Credential {
    /// An API key, sent the way the vendor wants its keys.
    ApiKey(SecretString),
    /// A token, sent as `Authorization: Bearer`.
    BearerToken(SecretString),
}

impl Credential {
    /// The secret itself.
    #[must_use]
    pub fn secret(&self) -> &SecretString {
        match self {
            Self::ApiKey(secret) | Self::BearerToken(secret) => secret,
        }
    }
}

impl ResolvedProvider {
    /// What stands for a model where none is needed, such as for running one tool: with no key and no address.
    #[must_use]
    pub fn none() -> Self {
        Self {
            name: "none".to_owned(),
            kind: "none".to_owned(),
            model: "none".to_owned(),
            fallback_models: Vec::new(),
            credential: None,
            key_reference: None,
            credential_source: None,
            base_url: None,
            base_url_source: None,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            max_output_tokens: None,
            options: None,
            files: Vec::new(),
        }
    }

    /// Decides on a provider, one of the kinds of `definitions`.
    ///
    /// The first of these that says anything decides: the override, `ROBOTA_PROVIDER`, the
    /// settings' `currentProvider`, their legacy `provider`, then the first of `definitions` that the environment
    /// is enough for: the key of a vendor, the address of a server of the user's own.
    ///
    /// The model is the first of: the override, `ROBOTA_MODEL`, the profile's, the variable of the kind,
    /// the settings' `model` (unless the provider was asked for by name, which may not
    /// have that model), the default of the kind.
    ///
    /// A key from a file is never sent to an address from the environment, nor the other way round.
    ///
    /// # Errors
    ///
    /// When nothing decides, or what was decided lacks something; the hint says what to do.
    pub fn resolve(
        settings: &Settings,
        environment: &Environment,
        overrides: &ProviderOverrides,
        definitions: &[ProviderDefinition],
    ) -> Result<Self, ProviderSetupError> {
        let asked = overrides.provider.as_deref().or(environment.get(Variable::ROBOTA_PROVIDER));
        let chosen = choose(settings, environment, asked, definitions)?;
        Self::of(&chosen, settings, environment, overrides, asked.is_some())
    }

    fn of(
        chosen: &Chosen<'_>,
        settings: &Settings,
        environment: &Environment,
        overrides: &ProviderOverrides,
        asked_by_name: bool,
    ) -> Result<Self, ProviderSetupError> {
        let Chosen { definition, profile, .. } = chosen;
        let endpoint = endpoint(chosen, environment)?;
        let model = overrides
            .model
            .as_deref()
            .or(environment.get(Variable::ROBOTA_MODEL))
            .or(profile.model.as_deref())
            .or_else(|| environment.lookup(definition.model_variable))
            .or_else(|| settings_model(settings, definition.kind, asked_by_name))
            .or(definition.default_model);
        let Some(model) = model else {
            return Err(ProviderSetupError::NoModel { name: chosen.name.to_owned() });
        };
        let fallback_models = if overrides.fallback_models.is_empty() {
            profile.fallback_models.clone().unwrap_or_default()
        } else {
            overrides.fallback_models.clone()
        };
        Ok(Self {
            name: chosen.name.to_owned(),
            kind: definition.kind.to_owned(),
            model: model.to_owned(),
            fallback_models,
            credential: endpoint.credential,
            key_reference: endpoint.key_reference,
            credential_source: endpoint.credential_source,
            base_url: endpoint.base_url,
            base_url_source: endpoint.base_url_source,
            idle_timeout: profile.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT),
            max_output_tokens: profile.max_output_tokens,
            options: profile.options.clone(),
            files: profile.files.clone(),
        })
    }

    /// The error that the provider does not take the `options` of the profile: `problem` says what is wrong with
    /// them, in words that follow its name.
    #[must_use]
    pub fn invalid_options(&self, problem: impl Into<String>) -> ProviderSetupError {
        let (name, problem, files) = (self.name.clone(), problem.into(), self.files.clone());
        ProviderSetupError::InvalidOptions { name, problem, files }
    }
}

/// The settings' own model, where it can be one of this provider.
fn settings_model<'a>(settings: &'a Settings, kind: &str, asked_by_name: bool) -> Option<&'a str> {
    let fits = |setting: &&ModelSetting| match setting.format {
        // Names such as `opus` are aliases that only that program knows.
        Format::Claude => kind == "anthropic" && setting.model.starts_with("claude-"),
        Format::Robota => !asked_by_name,
    };
    settings.models.iter().rfind(fits).map(|setting| setting.model.as_str())
}

/// Whether the address is on this machine.
fn is_loopback(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.parse::<std::net::IpAddr>()
        .map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for url in
            ["http://localhost:1234/v1", "http://127.0.0.2", "https://u:p@[::1]:80/x", "HTTP://LOCALHOST"]
        {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.example.com",
            "http://localhost@example.com/",
            "https://api.openai.com/localhost",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
