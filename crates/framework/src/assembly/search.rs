//! The search engine of WebSearch: that of the settings, else the first whose variable is set.

use std::sync::Arc;

use robota_tools::{SearchBackend, SearchConfig, search_backend};
use secrecy::ExposeSecret;

use super::redaction::dereferenced;
use crate::Environment;
use crate::settings::{SearchSettings, Settings};

/// What answers WebSearch, and what a person should know about it.
pub(super) fn backend(
    settings: &Settings,
    environment: &Environment,
) -> (Option<Arc<dyn SearchBackend>>, Option<String>) {
    let (config, place) = match &settings.search {
        Some(search) => (of_settings(search, environment), search.file.display().to_string()),
        None => match SearchConfig::from_variables(|name| environment.lookup(name).map(str::to_owned)) {
            Some(config) => (Ok(config), "the environment".to_owned()),
            None => return (None, None),
        },
    };
    match config.and_then(|config| search_backend(config).map_err(|error| error.to_string())) {
        Ok(backend) => (Some(backend), None),
        Err(missing) => (None, Some(format!("{place}: WebSearch is not set up: {missing}"))),
    }
}

/// A key from the environment goes to the engine's own address only: where the settings give another one, they
/// name the key too.
fn of_settings(search: &SearchSettings, environment: &Environment) -> Result<SearchConfig, String> {
    let mut config = SearchConfig::new(search.provider);
    config.base_url.clone_from(&search.base_url);
    if let Some(key) = &search.api_key {
        let known = dereferenced(key, environment);
        let named = || key.expose_secret().trim_start_matches("$ENV:").to_owned();
        config.api_key = Some(known.ok_or_else(|| format!("the variable {} is not set", named()))?);
    }
    let is_own_address = search.base_url.is_none();
    Ok(config.completed_from(|name| environment.lookup(name).filter(|_| is_own_address).map(str::to_owned)))
}
