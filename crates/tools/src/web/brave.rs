//! Search with the Brave Search API.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::engine::{Engine, Entry, Refusal, understood};
use super::search::{SearchBackend, SearchError, SearchHit};

const BASE_URL: &str = "https://api.search.brave.com";

/// The Brave Search API, version 1 (`GET /res/v1/web/search`).
#[derive(Debug)]
pub struct BraveSearch {
    key: SecretString,
    engine: Engine,
}

impl BraveSearch {
    /// Searches with `key`.
    #[must_use]
    pub fn new(key: SecretString) -> Self {
        Self { key, engine: Engine::at(BASE_URL) }
    }

    /// The same at another address, such as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn with_base_url(self, base_url: impl Into<String>) -> Self {
        Self { engine: Engine::at(base_url), ..self }
    }

    async fn ask(&self, query: &str, limit: usize) -> Result<Vec<SearchHit>, SearchError> {
        let mut url = self.engine.url("/res/v1/web/search")?;
        url.query_pairs_mut().append_pair("q", query).append_pair("count", &limit.to_string());
        let request = self.engine.client()?.get(url).header("X-Subscription-Token", self.key.expose_secret());
        let answer: Answer = self.engine.ask(request, wrong_key).await?;
        Ok(answer.web.results.into_iter().filter_map(Entry::into_hit).collect())
    }
}

/// A key that is not known has a status of its own here.
fn wrong_key(refusal: &Refusal) -> Option<SearchError> {
    let code = refusal.field("/error/code")?;
    (code == "SUBSCRIPTION_TOKEN_INVALID").then_some(SearchError::Key { status: refusal.status })
}

impl SearchBackend for BraveSearch {
    fn name(&self) -> &str {
        "Brave Search"
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, SearchError>> {
        self.ask(query, limit).boxed()
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    web: Web,
}

#[derive(Default, Deserialize)]
struct Web {
    #[serde(default, deserialize_with = "understood")]
    results: Vec<Entry>,
}
