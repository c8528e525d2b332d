//! The environment of what a session starts: commands of the model, and hooks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use robota_tools::process::child_environment;
use secrecy::ExposeSecret;

use super::{SessionBlueprint, redaction};
use crate::Variable;

/// The host's environment without credentials, and over it the variables of the settings: those are given to
/// children as they are written, except the ones that robota itself is set up with.
pub(super) fn of_children(blueprint: &SessionBlueprint) -> Vec<(OsString, OsString)> {
    let mut environment: BTreeMap<OsString, OsString> =
        child_environment(blueprint.environment.pairs()).into_iter().collect();
    for (name, value) in &blueprint.settings.env {
        if !is_own(name) {
            environment.insert(name.into(), value.expose_secret().into());
        }
    }
    let secrets = known_secrets(blueprint);
    environment.retain(|_, value| !is_one_of(&secrets, value));
    environment.into_iter().collect()
}

/// Variables that the headers of hooks may name where the hook lists them: all but those that robota itself is
/// set up with.
pub(super) fn of_headers(blueprint: &SessionBlueprint) -> BTreeMap<String, String> {
    let secrets = known_secrets(blueprint);
    let of_host = blueprint.environment.pairs().filter_map(|(name, value)| {
        let is_open = !is_one_of(&secrets, &value);
        Some((name.into_string().ok()?, value.into_string().ok()?)).filter(|_| is_open)
    });
    let of_settings = blueprint.settings.env.iter();
    let of_settings = of_settings.map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
    of_host
        .chain(of_settings)
        .filter(|(name, value)| !is_own(name) && !is_one_of(&secrets, OsStr::new(value)))
        .collect()
}

/// A variable that robota reads.
fn is_own(name: &str) -> bool {
    Variable::ALL.iter().any(|variable| variable.name == name)
}

/// The credentials of models and services, by value.
fn known_secrets(blueprint: &SessionBlueprint) -> Vec<String> {
    let secrets = blueprint.secrets().into_iter().filter(redaction::is_telling);
    secrets.map(|secret| secret.expose_secret().to_owned()).collect()
}

fn is_one_of(secrets: &[String], value: &OsStr) -> bool {
    secrets.iter().any(|secret| value.to_str().map(str::trim) == Some(secret))
}
