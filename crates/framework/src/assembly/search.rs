//! The search engine of WebSearch: that of the settings, else one whose variable is set.

use std::sync::Arc;

use robota_tools::{BraveSearch, SearchBackend};
use secrecy::{ExposeSecret, SecretString};

use super::redaction::dereferenced;
use crate::settings::{SearchEngine, SearchSettings, Settings};
use crate::{Environment, Variable};

/// What answers WebSearch, and what a person should know about it.
///
/// A key from the environment goes to the engine's own address only: where the settings give another one, they name
/// the key too.
pub(super) fn backend(
    settings: &Settings,
    environment: &Environment,
) -> (Option<Arc<dyn SearchBackend>>, Option<String>) {
    match &settings.search {
        None => (of_environment(environment), None),
        Some(search) => match of_settings(search, environment) {
            Ok(backend) => (Some(backend), None),
            Err(missing) => {
                let file = search.file.display();
                (None, Some(format!("{file}: WebSearch cannot use {}: {missing}", search.provider.as_str())))
            }
        },
    }
}

fn of_environment(environment: &Environment) -> Option<Arc<dyn SearchBackend>> {
    let engines = [
        (SearchEngine::Brave, Variable::BRAVE_API_KEY),
        (SearchEngine::Tavily, Variable::TAVILY_API_KEY),
        (SearchEngine::Searxng, Variable::SEARXNG_URL),
    ];
    engines.into_iter().find_map(|(engine, variable)| {
        let value = environment.get(variable)?;
        match engine {
            SearchEngine::Searxng => connect(engine, None, Some(value)).ok(),
            _ => connect(engine, Some(SecretString::from(value)), None).ok(),
        }
    })
}

fn of_settings(search: &SearchSettings, environment: &Environment) -> Result<Arc<dyn SearchBackend>, String> {
    let variable = match search.provider {
        SearchEngine::Brave => Some(Variable::BRAVE_API_KEY),
        SearchEngine::Tavily => Some(Variable::TAVILY_API_KEY),
        SearchEngine::Searxng => None,
    };
    let key = match (&search.api_key, variable) {
        (Some(key), _) => {
            let named = || key.expose_secret().trim_start_matches("$ENV:").to_owned();
            let key = dereferenced(key, environment);
            Some(key.ok_or_else(|| format!("the variable {} is not set", named()))?)
        }
        (None, Some(variable)) if search.base_url.is_none() => {
            environment.get(variable).map(SecretString::from)
        }
        (None, _) => None,
    };
    let address = match (search.provider, &search.base_url) {
        (SearchEngine::Searxng, None) => environment.get(Variable::SEARXNG_URL),
        (_, address) => address.as_deref(),
    };
    connect(search.provider, key, address)
}

/// The adapter of `engine`; why there is none otherwise.
fn connect(
    engine: SearchEngine,
    key: Option<SecretString>,
    _address: Option<&str>,
) -> Result<Arc<dyn SearchBackend>, String> {
    match engine {
        SearchEngine::Brave => {
            let key = key.ok_or("it needs a key: set `apiKey` or BRAVE_API_KEY")?;
            Ok(Arc::new(BraveSearch::new(key)))
        }
        SearchEngine::Tavily | SearchEngine::Searxng => Err("not connected".to_owned()),
    }
}
