//! The settings `search` and `webFetch`, and how they are joined.

use std::path::PathBuf;

use robota_tools::SearchProvider;
use secrecy::SecretString;

use super::SettingsError;
use super::document::Node;
use super::file::Reader;
use super::value::{base_url, choice, text, user_agent};

const SEARCH_KEYS: [&str; 3] = ["apiKey", "baseUrl", "provider"];
const FETCH_KEYS: [&str; 1] = ["userAgent"];

/// The setting `search`: which search engine WebSearch asks. The highest layer that sets it sets all of it, so
/// that a key goes only to the address it stands beside.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchSettings {
    /// The engine.
    pub provider: SearchProvider,
    /// Its key, or a reference `$ENV:NAME` to it; without one, the variable of the engine.
    pub api_key: Option<SecretString>,
    /// Another address than the engine's own; that of a SearXNG instance.
    pub base_url: Option<String>,
    /// The file that says so.
    pub file: PathBuf,
}

impl Reader<'_> {
    /// `search`.
    pub(super) fn search(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        let choices = SearchProvider::ALL.map(|provider| (provider.name(), provider));
        let (mut provider, mut api_key, mut address) = (None, None, None);
        for (name, node) in node.members()? {
            match name.as_str() {
                "provider" => provider = Some(choice(&node, &choices, "brave, tavily or searxng")?),
                "apiKey" => api_key = Some(SecretString::from(text(&node.secret())?)),
                "baseUrl" | "baseURL" => address = Some(base_url(&node)?),
                _ => self.unknown(&node, &name, "is not a setting of the search", &SEARCH_KEYS),
            }
        }
        let provider =
            provider.ok_or_else(|| node.wrong("`provider` is missing: brave, tavily or searxng"))?;
        let file = self.layer.path.clone();
        self.settings.search = Some(SearchSettings { provider, api_key, base_url: address, file });
        Ok(())
    }

    /// `webFetch`.
    pub(super) fn web_fetch(&mut self, node: &Node<'_>) -> Result<(), SettingsError> {
        for (name, node) in node.members()? {
            match name.as_str() {
                "userAgent" => self.settings.user_agent = Some(user_agent(&node)?),
                _ => self.unknown(&node, &name, "is not a setting of WebFetch", &FETCH_KEYS),
            }
        }
        Ok(())
    }
}
