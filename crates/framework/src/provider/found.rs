//! What the environment says about a kind of provider.

use robota_core::{ProviderCategory, ProviderDefinition};
use secrecy::SecretString;

use super::{Credential, ProviderSetupError, is_loopback};
use crate::Environment;

/// The definition that is called `name`, which may be an alias.
pub(super) fn called<'a>(
    definitions: &'a [ProviderDefinition],
    name: &str,
) -> Option<&'a ProviderDefinition> {
    definitions.iter().find(|definition| definition.is_called(name))
}

/// Whether the environment alone is enough to reach it: a vendor's key or an address on this machine, and for
/// servers of the user's own, which may be anywhere, their address.
pub(super) fn is_set_up(definition: &ProviderDefinition, environment: &Environment) -> bool {
    let address = environment.lookup(definition.base_url_variable);
    if definition.category == ProviderCategory::Local {
        return address.is_some();
    }
    let has_address = definition.base_url.is_some() || address.is_some();
    address.is_some_and(is_loopback) || (has_address && credential(definition, environment).is_some())
}

/// What the environment has to prove who is asking, and the variable it is in.
pub(super) fn credential(
    definition: &ProviderDefinition,
    environment: &Environment,
) -> Option<(Credential, String)> {
    let secret = |variable: &str| environment.lookup(variable).map(SecretString::from);
    let mut keys = definition.key_variables.iter();
    let key = keys.find_map(|variable| Some((Credential::ApiKey(secret(variable)?), (*variable).to_owned())));
    key.or_else(|| {
        let variable = definition.token_variable?;
        Some((Credential::BearerToken(secret(variable)?), variable.to_owned()))
    })
}

/// The address that the environment names, and the variable it is in.
pub(super) fn base_url(
    definition: &ProviderDefinition,
    environment: &Environment,
) -> Result<Option<(String, String)>, ProviderSetupError> {
    let variable = definition.base_url_variable;
    match environment.lookup(variable) {
        None => Ok(None),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            Ok(Some((url.to_owned(), variable.to_owned())))
        }
        Some(url) => Err(ProviderSetupError::InvalidAddress { variable, value: url.to_owned() }),
    }
}
