//! Search with an instance of SearXNG.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::engine::{Engine, Entry, Refusal, understood};
use super::plain::one_line;
use super::search::{SearchBackend, SearchError, SearchHit};

/// An instance of SearXNG (`GET /search?format=json`), such as one in one's own network.
///
/// Instances answer in JSON only when their settings list it under `search.formats`.
#[derive(Debug)]
pub struct SearxngSearch {
    key: Option<SecretString>,
    engine: Engine,
}

impl SearxngSearch {
    /// Searches at the instance whose start page is `base_url`.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { key: None, engine: Engine::at(base_url) }
    }

    /// The same with a key, which goes as a bearer token to whatever guards the instance.
    #[must_use]
    pub fn with_key(self, key: SecretString) -> Self {
        Self { key: Some(key), ..self }
    }

    async fn ask(&self, query: &str, limit: usize) -> Result<Vec<SearchHit>, SearchError> {
        let mut url = self.engine.url("/search")?;
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let mut request = self.engine.client()?.get(url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        let answer: Answer = self.engine.ask(request, no_json).await?;
        if answer.results.is_empty() && !answer.unresponsive_engines.is_empty() {
            let engines: Vec<_> = answer.unresponsive_engines.iter().map(|told| told.join(": ")).collect();
            let detail = one_line(&format!("its engines did not answer: {}", engines.join("; ")));
            return Err(SearchError::Refused { status: 200, detail });
        }
        Ok(answer.results.into_iter().filter_map(Entry::into_hit).take(limit).collect())
    }
}

fn no_json(refusal: &Refusal) -> Option<SearchError> {
    let status = refusal.status;
    (status == 403).then(|| SearchError::Refused {
        status,
        detail:
            "the instance does not answer in JSON, or not for programs; `json` has to be in `search.formats` \
                 of its settings.yml"
                .to_owned(),
    })
}

impl SearchBackend for SearxngSearch {
    fn name(&self) -> &str {
        "SearXNG"
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
    /// Name and reason of each.
    #[serde(default, deserialize_with = "understood")]
    unresponsive_engines: Vec<Vec<String>>,
}
