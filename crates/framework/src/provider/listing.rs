//! All providers that could be used, for commands that show them.

use robota_core::ProviderDefinition;

use super::choice::{Chosen, LEGACY, choose, from_definition, from_legacy, from_profile};
use super::{ProviderOverrides, ProviderSetupError, ResolvedProvider, found};
use crate::settings::Settings;
use crate::{Environment, Variable};

/// A provider that the settings describe or that the environment is enough for.
#[derive(Debug)]
#[non_exhaustive]
pub struct ListedProvider {
    /// The profile, or the kind.
    pub name: String,
    /// Where it comes from.
    pub origin: ProviderOrigin,
    /// Why a run without flags about it uses this one, in words for a person; `None` when it does not.
    pub current: Option<&'static str>,
    /// What it comes to, or what it lacks.
    pub resolved: Result<ResolvedProvider, ProviderSetupError>,
}

/// Where a provider comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderOrigin {
    /// A profile of the settings.
    Profile,
    /// The one provider of older settings.
    Legacy,
    /// The environment alone.
    Environment,
}

/// The profiles of the settings by name, then the kinds of `definitions` that the environment is enough for.
///
/// # Errors
///
/// When a flag, variable or setting names a provider that is not there. That nothing is set up is no error: the list is empty
/// then.
pub fn list_providers(
    settings: &Settings,
    environment: &Environment,
    overrides: &ProviderOverrides,
    definitions: &[ProviderDefinition],
) -> Result<Vec<ListedProvider>, ProviderSetupError> {
    let current = Current::of(settings, environment, overrides, definitions)?;
    let resolved = |chosen: Result<Chosen<'_>, ProviderSetupError>, by_name| {
        ResolvedProvider::of(&chosen?, settings, environment, overrides, by_name)
    };
    let mut list = Vec::new();
    for (name, profile) in &settings.providers {
        let current = current.reason(name, ProviderOrigin::Profile);
        let by_name = current.is_none_or(|reason| reason.by_name());
        let resolved = resolved(from_profile(name, profile, definitions), by_name);
        let (name, origin) = (name.clone(), ProviderOrigin::Profile);
        list.push(ListedProvider { name, origin, current: current.map(Reason::words), resolved });
    }
    if let Some(profile) = &settings.legacy_provider {
        let (name, origin) = (LEGACY.to_owned(), ProviderOrigin::Legacy);
        let current = current.reason(LEGACY, origin).map(Reason::words);
        let resolved = resolved(from_legacy(profile, definitions), false);
        list.push(ListedProvider { name, origin, current, resolved });
    }
    for definition in definitions {
        let origin = ProviderOrigin::Environment;
        let reason = current.reason(definition.kind, origin);
        if reason.is_none() && !found::is_set_up(definition, environment) {
            continue;
        }
        let by_name = reason.is_none_or(|reason| reason.by_name());
        let resolved = resolved(Ok(from_definition(definition)), by_name);
        let (name, current) = (definition.kind.to_owned(), reason.map(Reason::words));
        list.push(ListedProvider { name, origin, current, resolved });
    }
    Ok(list)
}

/// The provider that a run uses.
struct Current(Option<(String, ProviderOrigin, Reason)>);

/// What decided on it.
#[derive(Clone, Copy)]
enum Reason {
    Flag,
    Variable,
    Setting,
    Legacy,
    Environment,
}

impl Reason {
    /// Somebody asked for it by its name.
    const fn by_name(self) -> bool {
        matches!(self, Self::Flag | Self::Variable)
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Flag => "--provider",
            Self::Variable => "ROBOTA_PROVIDER",
            Self::Setting => "`currentProvider` in the settings",
            Self::Legacy => "`provider` in the settings",
            Self::Environment => "the first that the environment is enough for",
        }
    }
}

impl Current {
    fn of(
        settings: &Settings,
        environment: &Environment,
        overrides: &ProviderOverrides,
        definitions: &[ProviderDefinition],
    ) -> Result<Self, ProviderSetupError> {
        let flag = overrides.provider.as_deref();
        let asked = flag.or(environment.get(Variable::ROBOTA_PROVIDER));
        let reason = match (flag, asked, &settings.current_provider, &settings.legacy_provider) {
            (Some(_), ..) => Reason::Flag,
            (_, Some(_), ..) => Reason::Variable,
            (_, _, Some(_), _) => Reason::Setting,
            (.., Some(_)) => Reason::Legacy,
            _ => Reason::Environment,
        };
        let named = asked.or(settings.current_provider.as_deref());
        if let Some(name) = named.filter(|name| settings.providers.contains_key(*name)) {
            return Ok(Self(Some((name.to_owned(), ProviderOrigin::Profile, reason))));
        }
        let chosen = match choose(settings, environment, asked, definitions) {
            Err(ProviderSetupError::NoProvider) => return Ok(Self(None)),
            Err(error @ ProviderSetupError::Unknown { .. }) => return Err(error),
            Err(_) => return Ok(Self(Some((LEGACY.to_owned(), ProviderOrigin::Legacy, reason)))),
            Ok(chosen) => chosen,
        };
        let origin = if chosen.is_legacy { ProviderOrigin::Legacy } else { ProviderOrigin::Environment };
        Ok(Self(Some((chosen.name.to_owned(), origin, reason))))
    }

    fn reason(&self, name: &str, origin: ProviderOrigin) -> Option<Reason> {
        let (current, from, reason) = self.0.as_ref()?;
        (current == name && *from == origin).then_some(*reason)
    }
}
