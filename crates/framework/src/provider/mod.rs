//! Which model to talk to, where, and with which key: decided from flags, environment and settings.
//!
//! This crate knows no provider. It resolves what a composition root needs to construct one.

mod error;
mod options;
mod vendor;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub use error::ProviderSetupError;
pub use options::RequestOptions;
use vendor::Vendor;
pub use vendor::{DEFAULT_ANTHROPIC_MODEL, DEFAULT_OPENAI_MODEL};

use crate::settings::{Format, ModelSetting, ProviderProfile, Settings};
use crate::{Environment, Variable};

/// How long a server may send nothing when no profile says otherwise (seed `001`, Settings
/// Configuration).
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// What the command line says about provider and model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ProviderOverrides {
    /// A profile of the settings, or `anthropic` or `openai`.
    pub provider: Option<String>,
    /// A model id.
    pub model: Option<String>,
}

/// All that is needed to construct a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResolvedProvider {
    /// Name for people: the profile, or the type when no profile is used.
    pub name: String,
    /// Implementation, such as `anthropic` or `openai`.
    pub kind: String,
    /// Model id.
    pub model: String,
    /// How to prove who is asking; `None` for a service on this machine that asks for nothing.
    pub credential: Option<Credential>,
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
    /// What requests carry besides what the API asks for.
    pub options: RequestOptions,
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
            credential: None,
            credential_source: None,
            base_url: None,
            base_url_source: None,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            max_output_tokens: None,
            options: RequestOptions::default(),
        }
    }

    /// Decides on a provider.
    ///
    /// The first of these that says anything decides: the override, `ROBOTA_PROVIDER`, the
    /// settings' `currentProvider`, their legacy `provider`, then the vendor whose key or local
    /// address is in the environment, Anthropic first.
    ///
    /// The model is the first of: the override, `ROBOTA_MODEL`, the profile's, the vendor's
    /// variable, the settings' `model` (unless the provider was asked for by name, which may not
    /// have that model), the default of the type.
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
    ) -> Result<Self, ProviderSetupError> {
        let asked = overrides.provider.as_deref().or(environment.get(Variable::ROBOTA_PROVIDER));
        let chosen = choose(settings, environment, asked)?;
        let endpoint = endpoint(&chosen, environment)?;
        let model = overrides
            .model
            .as_deref()
            .or(environment.get(Variable::ROBOTA_MODEL))
            .or(chosen.profile.model.as_deref())
            .or_else(|| chosen.vendor.and_then(|vendor| environment.get(vendor.model_variable)))
            .or_else(|| settings_model(settings, chosen.kind, asked.is_some()))
            .or(chosen.vendor.map(|vendor| vendor.default_model));
        let Some(model) = model else {
            return Err(ProviderSetupError::NoModel { name: chosen.name.to_owned() });
        };
        let profile = chosen.profile;
        let options = profile.options.as_ref().map(RequestOptions::parse).transpose().map_err(|problem| {
            ProviderSetupError::InvalidOptions {
                name: chosen.name.to_owned(),
                problem,
                files: profile.files.clone(),
            }
        })?;
        Ok(Self {
            name: chosen.name.to_owned(),
            kind: chosen.kind.to_owned(),
            model: model.to_owned(),
            credential: endpoint.credential,
            credential_source: endpoint.credential_source,
            base_url: endpoint.base_url,
            base_url_source: endpoint.base_url_source,
            idle_timeout: profile.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT),
            max_output_tokens: profile.max_output_tokens,
            options: options.unwrap_or_default(),
        })
    }
}

/// A profile that was chosen, or the empty profile of a vendor.
struct Chosen<'a> {
    name: &'a str,
    kind: &'a str,
    vendor: Option<&'static Vendor>,
    profile: &'a ProviderProfile,
    /// It is the one provider of older settings.
    is_legacy: bool,
}

impl Chosen<'_> {
    /// Where `field` of the profile stands, for a person.
    fn place(&self, field: &str) -> String {
        let Self { name, is_legacy, .. } = self;
        if *is_legacy {
            format!("`{name}.{field}` in the settings")
        } else {
            format!("`providers.{name}.{field}` in the settings")
        }
    }
}

/// The profile of a vendor that no settings describe.
static NO_PROFILE: ProviderProfile = ProviderProfile::EMPTY;

fn choose<'a>(
    settings: &'a Settings,
    environment: &Environment,
    asked: Option<&'a str>,
) -> Result<Chosen<'a>, ProviderSetupError> {
    if let Some(name) = asked.or(settings.current_provider.as_deref()) {
        // A setting must name a profile; only a person may mean a vendor.
        let vendor = asked.and_then(Vendor::of_kind);
        return match (settings.providers.get(name), vendor) {
            (Some(profile), _) => from_profile(name, profile),
            (None, Some(vendor)) => Ok(from_vendor(vendor)),
            (None, None) => Err(ProviderSetupError::unknown(name, asked.is_none(), &settings.providers)),
        };
    }
    if let Some(profile) = &settings.legacy_provider {
        return Ok(Chosen { is_legacy: true, ..from_profile("provider", profile)? });
    }
    Vendor::ALL
        .iter()
        .find(|vendor| vendor.is_set_up(environment))
        .map(from_vendor)
        .ok_or(ProviderSetupError::NoProvider)
}

fn from_profile<'a>(name: &'a str, profile: &'a ProviderProfile) -> Result<Chosen<'a>, ProviderSetupError> {
    let Some(kind) = profile.kind.as_deref() else {
        return Err(ProviderSetupError::NoType { name: name.to_owned(), files: profile.files.clone() });
    };
    Ok(Chosen { name, kind, vendor: Vendor::of_kind(kind), profile, is_legacy: false })
}

fn from_vendor<'a>(vendor: &'static Vendor) -> Chosen<'a> {
    let (name, kind) = (vendor.kind, vendor.kind);
    Chosen { name, kind, vendor: Some(vendor), profile: &NO_PROFILE, is_legacy: false }
}

/// Address and credential, each with the place it comes from.
struct Endpoint {
    credential: Option<Credential>,
    credential_source: Option<String>,
    base_url: Option<String>,
    base_url_source: Option<String>,
}

/// Address and credential, both from the profile or both from the environment.
fn endpoint(chosen: &Chosen<'_>, environment: &Environment) -> Result<Endpoint, ProviderSetupError> {
    let profile = chosen.profile;
    let vendor = chosen.vendor;
    let written = profile.api_key.as_ref().map(|key| credential_of(chosen, key, environment)).transpose()?;
    let key_is_in_file = written.as_ref().is_some_and(|written| written.in_file);

    let (base_url, base_url_source) = match &profile.base_url {
        Some(url) => Some((url.clone(), chosen.place("baseURL"))),
        None if key_is_in_file => None,
        None => vendor.map(|vendor| vendor.base_url(environment)).transpose()?.flatten(),
    }
    .unzip();
    let (credential, credential_source) = match written {
        Some(Written { credential, source, .. }) => Some((credential, source)),
        None if profile.base_url.is_some() => None,
        None => vendor.and_then(|vendor| vendor.credential(environment)),
    }
    .unzip();
    if credential.is_none() && !base_url.as_deref().is_some_and(is_loopback) {
        let variable = vendor.map(|vendor| vendor.key_variable.name);
        let foreign = profile.base_url.is_some();
        return Err(ProviderSetupError::NoKey { name: chosen.name.to_owned(), variable, foreign });
    }
    // Where a local service has no key and refuses that, one has to be written beside its address.
    let missing = || profile.base_url.is_some().then(|| chosen.place("apiKey"));
    let credential_source = credential_source.or_else(missing);
    Ok(Endpoint { credential, credential_source, base_url, base_url_source })
}

/// The key of a profile.
struct Written {
    credential: Credential,
    /// Where it stands.
    source: String,
    /// That is the profile itself, and not a variable.
    in_file: bool,
}

fn credential_of(
    chosen: &Chosen<'_>,
    key: &SecretString,
    environment: &Environment,
) -> Result<Written, ProviderSetupError> {
    let Some(variable) = key.expose_secret().strip_prefix("$ENV:") else {
        let credential = Credential::ApiKey(key.clone());
        return Ok(Written { credential, source: chosen.place("apiKey"), in_file: true });
    };
    let Some(value) = environment.lookup(variable) else {
        let (name, variable) = (chosen.name.to_owned(), variable.to_owned());
        return Err(ProviderSetupError::UnsetVariable { name, variable });
    };
    let secret = SecretString::from(value);
    let is_token = variable == Variable::ANTHROPIC_AUTH_TOKEN.name;
    let credential = if is_token { Credential::BearerToken(secret) } else { Credential::ApiKey(secret) };
    Ok(Written { credential, source: variable.to_owned(), in_file: false })
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
