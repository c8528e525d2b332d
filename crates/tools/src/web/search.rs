//! WebSearch: asks a search engine.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::domains::Domains;
use super::unreached::with_causes;
use crate::failure::Failure;
use crate::input::WholeNumber;

const DEADLINE: Duration = Duration::from_secs(15);
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 20;

/// A search engine.
pub trait SearchBackend: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The best `limit` (1 to 20) results for `query`, best first; fewer when there are no more.
    ///
    /// The future is dropped after 15 seconds.
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, SearchError>>;
}

/// One result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters outside this crate write it out")]
pub struct SearchHit {
    /// Title of the page, as plain text.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What the engine shows of it, as plain text; may be empty.
    pub snippet: String,
}

/// A search that gave no results because it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The engine does not accept the key.
    #[error("the key was not accepted (status {status})")]
    Key {
        /// HTTP status.
        status: u16,
    },
    /// Too many searches for now.
    #[error("the limit of searches is reached; wait {}before the next one", seconds(*retry_after))]
    RateLimited {
        /// How long to wait, when the engine says.
        retry_after: Option<Duration>,
    },
    /// The engine answered with another failure.
    #[error("status {status}: {detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What the engine said.
        detail: String,
    },
    /// The engine was not reached, or its answer not understood.
    #[error("{message}")]
    Transport {
        /// What did not work.
        message: String,
        /// Why.
        source: Box<dyn StdError + Send + Sync>,
    },
}

pub(crate) struct WebSearch {
    pub(crate) backend: Option<Arc<dyn SearchBackend>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebSearchInput {
    #[serde(alias = "q", alias = "search_query")]
    query: String,
    /// Default 10, at most 20.
    #[serde(default, alias = "count", alias = "num_results")]
    #[schemars(with = "WholeNumber")]
    limit: Option<WholeNumber>,
    #[serde(default, alias = "allowed_domains")]
    #[schemars(with = "Vec<String>")]
    allowed_domains: Option<Vec<String>>,
    #[serde(default, alias = "blocked_domains")]
    #[schemars(with = "Vec<String>")]
    blocked_domains: Option<Vec<String>>,
}

impl Tool for WebSearch {
    type Input = WebSearchInput;

    fn describe(&self) -> ToolSpec {
        let description =
            "Searches the web; returns titles, addresses and excerpts. Read a result with WebFetch.";
        ToolSpec::new("WebSearch", ToolClass::Inspect, description).read_only().with_spellings(&[
            ("query", &["q", "search_query"]),
            ("limit", &["count", "num_results"]),
            ("allowedDomains", &["allowed_domains"]),
            ("blockedDomains", &["blocked_domains"]),
        ])
    }

    fn access(&self, _: &WebSearchInput) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, input: WebSearchInput, context: ToolContext) -> ToolResult {
        let searched = tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Failure::cancelled()),
            searched = tokio::time::timeout(DEADLINE, self.search(&input)) => searched.unwrap_or_else(|_| {
                let message = format!("the search took longer than {} s", DEADLINE.as_secs());
                Err(Failure::new("timed_out", message))
            }),
        };
        Ok(searched.unwrap_or_else(ToolOutcome::from))
    }
}

impl WebSearch {
    async fn search(&self, input: &WebSearchInput) -> Result<ToolOutcome, Failure> {
        let query = input.query.trim();
        if query.is_empty() {
            return Err(Failure::new("invalid_argument", "the query is empty"));
        }
        let Some(backend) = &self.backend else {
            let message = "web search is not set up: the user has to set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL \
                           (or `search` in the settings); go on without it, or fetch a known address with WebFetch";
            return Err(Failure::new("not_configured", message));
        };
        let (allowed, blocked) = (input.allowed_domains.as_deref(), input.blocked_domains.as_deref());
        let domains = Domains::new(allowed.unwrap_or_default(), blocked.unwrap_or_default())
            .map_err(|problem| Failure::new("invalid_argument", problem))?;
        let limit = input.limit.map_or(DEFAULT_LIMIT, |limit| limit.count().clamp(1, MAX_LIMIT));
        let asked = if domains.is_all() { limit } else { MAX_LIMIT };
        let mut hits = backend.search(&domains.narrow(query), asked).await.map_err(|error| {
            let message = format!("search with {} failed: {}", backend.name(), with_causes(&error));
            Failure::new("search_failed", message)
        })?;
        if !domains.is_all() {
            hits.retain(|hit| domains.have(hit));
        }
        hits.truncate(limit);
        Ok(outcome(query, &hits))
    }
}

fn seconds(wait: Option<Duration>) -> String {
    wait.map(|wait| format!("{} s ", wait.as_secs())).unwrap_or_default()
}

fn outcome(query: &str, hits: &[SearchHit]) -> ToolOutcome {
    if hits.is_empty() {
        return ToolOutcome::success(format!("no results for {query}"))
            .with_structured(json!({"results": 0}));
    }
    let lines = hits.iter().enumerate().map(|(at, hit)| {
        let text = format!("{}. {}\n   {}\n   {}", at + 1, hit.title, hit.url, hit.snippet);
        text.trim_end().to_owned()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    ToolOutcome::success(text).with_structured(json!({"results": hits.len()}))
}
