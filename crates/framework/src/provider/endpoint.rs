//! Address and key of a provider, each with the place it comes from.

use robota_core::{ProviderCategory, ProviderDefinition};
use secrecy::{ExposeSecret, SecretString};

use super::choice::Chosen;
use super::{Credential, KEYRING, KeyReference, ProviderSetupError, found, is_loopback};
use crate::Environment;

/// Address and credential, each with the place it comes from.
#[derive(Default)]
pub(super) struct Endpoint {
    pub(super) credential: Option<Credential>,
    pub(super) key_reference: Option<KeyReference>,
    pub(super) credential_source: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) base_url_source: Option<String>,
}

/// Address and credential, both from the profile or both from the environment.
pub(super) fn endpoint(
    chosen: &Chosen<'_>,
    environment: &Environment,
) -> Result<Endpoint, ProviderSetupError> {
    let Chosen { profile, definition, .. } = chosen;
    let written = written_key(chosen, environment)?;
    let key_is_in_file = written.as_ref().is_some_and(|written| written.in_file);

    let (base_url, base_url_source) = match &profile.base_url {
        Some(url) => Some((url.clone(), chosen.place("baseURL"))),
        None if key_is_in_file => None,
        None => found::base_url(definition, environment)?,
    }
    .unzip();
    let mut endpoint = Endpoint { base_url, base_url_source, ..Endpoint::default() };
    match written {
        Some(Written { key: Key::Known(credential), source, .. }) => {
            (endpoint.credential, endpoint.credential_source) = (Some(credential), Some(source));
        }
        Some(Written { key: Key::Elsewhere(reference), source, .. }) => {
            (endpoint.key_reference, endpoint.credential_source) = (Some(reference), Some(source));
        }
        None if profile.base_url.is_some() => {}
        None => {
            (endpoint.credential, endpoint.credential_source) =
                found::credential(definition, environment).unzip();
        }
    }
    let is_keyless = endpoint.credential.is_none() && endpoint.key_reference.is_none();
    if is_keyless && !may_do_without(definition, endpoint.base_url.as_deref()) {
        let variable = definition.key_variable();
        let foreign = profile.base_url.is_some();
        return Err(ProviderSetupError::NoKey { name: chosen.name.to_owned(), variable, foreign });
    }
    // Where a service has no key and refuses that, one has to be written beside its address.
    let missing = || profile.base_url.is_some().then(|| chosen.place("apiKey"));
    endpoint.credential_source = endpoint.credential_source.or_else(missing);
    Ok(endpoint)
}

/// Servers of the user's own, and whatever else runs on this machine, may ask for nothing.
fn may_do_without(definition: &ProviderDefinition, base_url: Option<&str>) -> bool {
    definition.category == ProviderCategory::Local
        || base_url.or(definition.base_url).is_some_and(is_loopback)
}

/// The key of a profile.
struct Written {
    key: Key,
    /// Where it stands.
    source: String,
    /// That is the profile itself, and not a variable.
    in_file: bool,
}

enum Key {
    Known(Credential),
    Elsewhere(KeyReference),
}

fn written_key(
    chosen: &Chosen<'_>,
    environment: &Environment,
) -> Result<Option<Written>, ProviderSetupError> {
    let profile = chosen.profile;
    if let Some(key) = &profile.api_key {
        return api_key(chosen, key, environment).map(Some);
    }
    Ok(profile.api_key_helper.as_ref().map(|command| Written {
        key: Key::Elsewhere(KeyReference::Helper { command: command.clone() }),
        source: chosen.place("apiKeyHelper"),
        in_file: true,
    }))
}

fn api_key(
    chosen: &Chosen<'_>,
    key: &SecretString,
    environment: &Environment,
) -> Result<Written, ProviderSetupError> {
    let text = key.expose_secret();
    let source = chosen.place("apiKey");
    if let Some(variable) = text.strip_prefix("$ENV:") {
        let Some(value) = environment.lookup(variable) else {
            let (name, variable) = (chosen.name.to_owned(), variable.to_owned());
            return Err(ProviderSetupError::UnsetVariable { name, variable });
        };
        let secret = SecretString::from(value);
        let is_token = chosen.definition.token_variable == Some(variable);
        let credential = if is_token { Credential::BearerToken(secret) } else { Credential::ApiKey(secret) };
        return Ok(Written { key: Key::Known(credential), source: variable.to_owned(), in_file: false });
    }
    let key = match text.strip_prefix(KEYRING) {
        Some(entry) => Key::Elsewhere(KeyReference::of_keyring(entry).ok_or_else(|| {
            ProviderSetupError::InvalidReference { name: chosen.name.to_owned(), reference: text.to_owned() }
        })?),
        None => Key::Known(Credential::ApiKey(key.clone())),
    };
    Ok(Written { key, source, in_file: true })
}
