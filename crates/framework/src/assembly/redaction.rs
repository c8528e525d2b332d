//! Keeps credentials out of logs and snapshots.

use robota_core::Redactor;
use robota_session::{LineFilter, redacting_filter};
use secrecy::{ExposeSecret, SecretString};

use crate::provider::KEYRING;
use crate::settings::Settings;
use crate::{Environment, Variable};

/// Shorter credentials are placeholders such as `none`, and would turn up in ordinary words.
const SHORTEST: usize = 8;

/// A filter that replaces `secrets` wherever they turn up, and whatever stands under the key of a
/// secret, such as `apiKey`.
pub(super) fn filter(secrets: &[SecretString]) -> LineFilter {
    redacting_filter(Redactor::new(secrets.iter().map(ExposeSecret::expose_secret)))
}

/// What keeps credentials out of what is written by whoever needs no model, such as `robota session import`:
/// the filter of an [`Assembly`](super::Assembly), for the keys of all profiles and of the environment.
#[must_use]
pub fn log_filter(settings: &Settings, environment: &Environment) -> LineFilter {
    filter(&secrets(settings, environment).collect::<Vec<_>>())
}

/// Every value that came from a credential source.
pub(super) fn secrets<'a>(
    settings: &'a Settings,
    environment: &'a Environment,
) -> impl Iterator<Item = SecretString> + 'a {
    let profiles = settings.providers.values().chain(&settings.legacy_provider);
    let of_profiles = profiles.filter_map(|profile| profile.api_key.as_ref());
    let of_search = settings.search.iter().filter_map(|search| search.api_key.as_ref());
    let of_settings = of_profiles.chain(of_search).filter_map(|key| dereferenced(key, environment));
    let of_environment = Variable::ALL.iter().filter(|variable| variable.is_credential());
    let of_environment = of_environment.filter_map(|variable| environment.get(*variable));
    of_settings.chain(of_environment.map(SecretString::from))
}

/// The key itself, where the settings may only name the variable it is in; `None` when that is not set.
pub(super) fn dereferenced(key: &SecretString, environment: &Environment) -> Option<SecretString> {
    let text = key.expose_secret();
    match text.strip_prefix("$ENV:") {
        Some(name) => environment.lookup(name).map(SecretString::from),
        // The key itself is in a keyring.
        None if text.starts_with(KEYRING) => None,
        None => Some(key.clone()),
    }
}

/// Whether the credential is one, and not a placeholder.
pub(super) fn is_telling(secret: &SecretString) -> bool {
    secret.expose_secret().len() >= SHORTEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_replaced_by_value_and_by_key_and_placeholders_are_not() {
        let secrets = ["sk-ant-12345678", "12345678", "none", "pass\\word"].map(SecretString::from);
        let filter = filter(&secrets);
        let mut line = br#"{"a":"sk-ant-12345678 12345678 none","b":"pass\\word","apiKey":"x"}"#.to_vec();
        assert!(filter.apply(&mut line));
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"a":"[REDACTED] [REDACTED] none","b":"[REDACTED]","apiKey":"[REDACTED]"}"#);
    }
}
