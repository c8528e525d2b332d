//! Which search engine is used, by configuration.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use reqwest::Url;
use secrecy::SecretString;

use super::brave::BraveSearch;
use super::search::SearchBackend;
use super::searxng::SearxngSearch;
use super::tavily::TavilySearch;

/// A search engine that robota knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchProvider {
    /// The Brave Search API.
    Brave,
    /// Tavily.
    Tavily,
    /// An instance of SearXNG.
    Searxng,
}

/// A search engine with what it needs.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts write out from their settings")]
pub struct SearchConfig {
    /// Which one.
    pub provider: SearchProvider,
    /// Its key. Brave and Tavily need one; SearXNG gets it as a bearer token when there is one.
    pub api_key: Option<SecretString>,
    /// Its address, such as `https://search.example`; SearXNG needs one, the others have one of their own.
    pub base_url: Option<String>,
}

/// A search engine that cannot be used as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchConfigError {
    /// There is no engine of that name.
    #[error("`{name}` is not a search provider; there are `brave`, `tavily` and `searxng`")]
    UnknownProvider {
        /// The name.
        name: String,
    },
    /// The engine needs a key.
    #[error("search with {provider} needs a key: set {variable} or `search.apiKey`")]
    NoKey {
        /// The engine.
        provider: SearchProvider,
        /// The variable of the environment that holds its key.
        variable: &'static str,
    },
    /// The engine needs an address.
    #[error("search with {provider} needs the address of an instance: set {variable} or `search.baseUrl`")]
    NoAddress {
        /// The engine.
        provider: SearchProvider,
        /// The variable of the environment that holds its address.
        variable: &'static str,
    },
    /// The address is none.
    #[error("the address `{address}` of the search provider is not one that begins with http:// or https://")]
    Address {
        /// As it was written.
        address: String,
    },
}

impl SearchProvider {
    /// All of them, in the order in which [`SearchConfig::from_variables`] looks for them.
    pub const ALL: [Self; 3] = [Self::Brave, Self::Tavily, Self::Searxng];

    /// Its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Searxng => "searxng",
        }
    }

    /// The variable of the environment that holds its key, or for SearXNG its address.
    #[must_use]
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Brave => "BRAVE_API_KEY",
            Self::Tavily => "TAVILY_API_KEY",
            Self::Searxng => "SEARXNG_URL",
        }
    }
}

impl fmt::Display for SearchProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SearchProvider {
    type Err = SearchConfigError;

    fn from_str(name: &str) -> Result<Self, SearchConfigError> {
        let known = Self::ALL.into_iter().find(|provider| provider.name().eq_ignore_ascii_case(name.trim()));
        known.ok_or_else(|| SearchConfigError::UnknownProvider { name: name.to_owned() })
    }
}

impl SearchConfig {
    /// An engine for which nothing else is known.
    #[must_use]
    pub const fn new(provider: SearchProvider) -> Self {
        Self { provider, api_key: None, base_url: None }
    }

    /// The first engine whose variable is set; `variable` gives the value of one.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        SearchProvider::ALL
            .into_iter()
            .map(|provider| Self::new(provider).completed_from(&variable))
            .find(|config| config.api_key.is_some() || config.base_url.is_some())
    }

    /// The same with what it lacks taken from the variable of its engine.
    #[must_use]
    pub fn completed_from(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = || variable(self.provider.variable()).filter(|value| !value.trim().is_empty());
        match self.provider {
            SearchProvider::Brave | SearchProvider::Tavily if self.api_key.is_none() => {
                self.api_key = value().map(SecretString::from);
            }
            SearchProvider::Searxng if self.base_url.is_none() => self.base_url = value(),
            _ => {}
        }
        self
    }
}

/// The engine that `config` names, ready for [`ToolOptions::search`](crate::ToolOptions::search).
///
/// # Errors
///
/// [`SearchConfigError`] when it lacks what it needs.
pub fn search_backend(config: SearchConfig) -> Result<Arc<dyn SearchBackend>, SearchConfigError> {
    let SearchConfig { provider, api_key, base_url } = config;
    if let Some(address) = &base_url {
        let parsed = Url::parse(address).ok();
        if !parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(SearchConfigError::Address { address: address.clone() });
        }
    }
    let variable = provider.variable();
    let no_key = SearchConfigError::NoKey { provider, variable };
    Ok(match (provider, base_url) {
        (SearchProvider::Brave, None) => Arc::new(BraveSearch::new(api_key.ok_or(no_key)?)),
        (SearchProvider::Brave, Some(at)) => {
            Arc::new(BraveSearch::new(api_key.ok_or(no_key)?).with_base_url(at))
        }
        (SearchProvider::Tavily, None) => Arc::new(TavilySearch::new(api_key.ok_or(no_key)?)),
        (SearchProvider::Tavily, Some(at)) => {
            Arc::new(TavilySearch::new(api_key.ok_or(no_key)?).with_base_url(at))
        }
        (SearchProvider::Searxng, None) => return Err(SearchConfigError::NoAddress { provider, variable }),
        (SearchProvider::Searxng, Some(at)) => {
            let search = SearxngSearch::new(at);
            Arc::new(match api_key {
                Some(key) => search.with_key(key),
                None => search,
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(config: SearchConfig) -> Result<String, String> {
        search_backend(config).map(|backend| backend.name().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_engine_is_chosen_by_its_name_or_by_the_first_variable() {
        let variables = |set: &'static [(&str, &str)]| {
            SearchConfig::from_variables(move |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let chosen = |set| variables(set).map(named);
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[("BRAVE_API_KEY", " "), ("TAVILY_API_KEY", "t")]), Some(Ok("Tavily".to_owned())));
        assert_eq!(
            chosen(&[("TAVILY_API_KEY", "t"), ("BRAVE_API_KEY", "b")]),
            Some(Ok("Brave Search".to_owned()))
        );
        assert_eq!(chosen(&[("SEARXNG_URL", "http://127.0.0.1:1")]), Some(Ok("SearXNG".to_owned())));
        assert_eq!("SearXNG".parse(), Ok(SearchProvider::Searxng));
        assert_eq!(
            "google".parse::<SearchProvider>().unwrap_err().to_string(),
            "`google` is not a search provider; there are `brave`, `tavily` and `searxng`"
        );
    }

    #[test]
    fn what_is_missing_is_told() {
        let cases = [
            (SearchConfig::new(SearchProvider::Brave), "set BRAVE_API_KEY or `search.apiKey`"),
            (SearchConfig::new(SearchProvider::Tavily), "set TAVILY_API_KEY or `search.apiKey`"),
            (SearchConfig::new(SearchProvider::Searxng), "set SEARXNG_URL or `search.baseUrl`"),
            (
                SearchConfig {
                    base_url: Some("search.example".to_owned()),
                    ..SearchConfig::new(SearchProvider::Searxng)
                },
                "`search.example` of the search provider is not one",
            ),
        ];
        for (config, told) in cases {
            let error = named(config).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
