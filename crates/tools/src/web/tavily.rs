//! Search with Tavily.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::engine::{Engine, Entry, Refusal, understood};
use super::search::{SearchBackend, SearchError, SearchHit};

const BASE_URL: &str = "https://api.tavily.com";

/// The Tavily search API (`POST /search`).
#[derive(Debug)]
pub struct TavilySearch {
    key: SecretString,
    engine: Engine,
}

impl TavilySearch {
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
        let body = json!({"query": query, "max_results": limit}).to_string();
        let request = self.engine.client()?.post(self.engine.url("/search")?).body(body);
        let request =
            request.header("Content-Type", "application/json").bearer_auth(self.key.expose_secret());
        let answer: Answer = self.engine.ask(request, used_up).await?;
        Ok(answer.results.into_iter().filter_map(Entry::into_hit).collect())
    }
}

/// Plans that are used up have statuses of their own here.
fn used_up(refusal: &Refusal) -> Option<SearchError> {
    let status = refusal.status;
    matches!(status, 432 | 433).then(|| SearchError::Refused {
        status,
        detail: format!("the plan of the key is used up: {}", refusal.detail()),
    })
}

impl SearchBackend for TavilySearch {
    fn name(&self) -> &str {
        "Tavily"
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
    #[serde(default, deserialize_with = "understood")]
    results: Vec<Entry>,
}
