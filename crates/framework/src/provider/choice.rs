//! Which profile or kind of provider it is.

use robota_core::ProviderDefinition;

use super::{ProviderSetupError, found};
use crate::Environment;
use crate::settings::{ProviderProfile, Settings};

/// A profile that was chosen, or the empty profile of a kind.
pub(super) struct Chosen<'a> {
    pub(super) name: &'a str,
    pub(super) definition: &'a ProviderDefinition,
    pub(super) profile: &'a ProviderProfile,
    /// It is the one provider of older settings.
    pub(super) is_legacy: bool,
}

impl Chosen<'_> {
    /// Where `field` of the profile stands, for a person.
    pub(super) fn place(&self, field: &str) -> String {
        let Self { name, is_legacy, .. } = self;
        if *is_legacy {
            format!("`{name}.{field}` in the settings")
        } else {
            format!("`providers.{name}.{field}` in the settings")
        }
    }
}

/// The profile of a kind that no settings describe.
static NO_PROFILE: ProviderProfile = ProviderProfile::EMPTY;

/// What the one provider of older settings is called.
pub(super) const LEGACY: &str = "provider";

pub(super) fn choose<'a>(
    settings: &'a Settings,
    environment: &Environment,
    asked: Option<&'a str>,
    definitions: &'a [ProviderDefinition],
) -> Result<Chosen<'a>, ProviderSetupError> {
    if let Some(name) = asked.or(settings.current_provider.as_deref()) {
        // A setting must name a profile; only a person may mean a kind.
        let definition = asked.and_then(|name| found::called(definitions, name));
        return match (settings.providers.get(name), definition) {
            (Some(profile), _) => from_profile(name, profile, definitions),
            (None, Some(definition)) => Ok(from_definition(definition)),
            (None, None) => {
                Err(ProviderSetupError::unknown(name, asked.is_none(), &settings.providers, definitions))
            }
        };
    }
    if let Some(profile) = &settings.legacy_provider {
        return from_legacy(profile, definitions);
    }
    definitions
        .iter()
        .find(|definition| found::is_set_up(definition, environment))
        .map(from_definition)
        .ok_or(ProviderSetupError::NoProvider)
}

pub(super) fn from_profile<'a>(
    name: &'a str,
    profile: &'a ProviderProfile,
    definitions: &'a [ProviderDefinition],
) -> Result<Chosen<'a>, ProviderSetupError> {
    let known = || definitions.iter().map(|definition| definition.kind).collect();
    let Some(kind) = profile.kind.as_deref() else {
        let (name, files) = (name.to_owned(), profile.files.clone());
        return Err(ProviderSetupError::NoType { name, files, known: known() });
    };
    let Some(definition) = found::called(definitions, kind) else {
        let (name, kind, files) = (name.to_owned(), kind.to_owned(), profile.files.clone());
        return Err(ProviderSetupError::UnknownType { name, kind, files, known: known() });
    };
    Ok(Chosen { name, definition, profile, is_legacy: false })
}

pub(super) fn from_legacy<'a>(
    profile: &'a ProviderProfile,
    definitions: &'a [ProviderDefinition],
) -> Result<Chosen<'a>, ProviderSetupError> {
    Ok(Chosen { is_legacy: true, ..from_profile(LEGACY, profile, definitions)? })
}

pub(super) fn from_definition(definition: &ProviderDefinition) -> Chosen<'_> {
    Chosen { name: definition.kind, definition, profile: &NO_PROFILE, is_legacy: false }
}
