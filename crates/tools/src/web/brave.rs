//! Search with the Brave Search API.

use std::sync::OnceLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::client;
use super::search::{SearchBackend, SearchError, SearchHit};

const BASE_URL: &str = "https://api.search.brave.com";
/// Bytes of an answer; twenty results are far smaller.
const MAX_ANSWER: usize = 4_000_000;
/// Characters of an engine's error that are passed on.
const MAX_DETAIL: usize = 300;

/// The Brave Search API, version 1 (`GET /res/v1/web/search`).
#[derive(Debug)]
pub struct BraveSearch {
    key: SecretString,
    base_url: String,
    client: OnceLock<Client>,
}

impl BraveSearch {
    /// Searches with `key`.
    #[must_use]
    pub fn new(key: SecretString) -> Self {
        Self { key, base_url: BASE_URL.to_owned(), client: OnceLock::new() }
    }

    /// The same at another address, such as `http://127.0.0.1:8080`.
    #[must_use]
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    async fn ask(&self, query: &str, limit: usize) -> Result<Vec<SearchHit>, SearchError> {
        let address = format!("{}/res/v1/web/search", self.base_url.trim_end_matches('/'));
        let mut url = Url::parse(&address).map_err(transport("the address is not valid"))?;
        url.query_pairs_mut().append_pair("q", query).append_pair("count", &limit.to_string());
        let request = self.client()?.get(url).header("X-Subscription-Token", self.key.expose_secret());
        let request = request.header("Accept", "application/json");
        let response = request.send().await.map_err(transport("the service was not reached"))?;
        let status = response.status();
        let body = read_bounded(response).await?;
        match status.as_u16() {
            200 => {
                let answer: Answer =
                    serde_json::from_slice(&body).map_err(transport("the answer was not understood"))?;
                Ok(answer.web.results.into_iter().map(Entry::into_hit).collect())
            }
            status @ (401 | 403) => Err(SearchError::Key { status }),
            429 => Err(SearchError::RateLimited),
            status => {
                let detail = String::from_utf8_lossy(&body).chars().take(MAX_DETAIL).collect();
                Err(SearchError::Refused { status, detail })
            }
        }
    }

    fn client(&self) -> Result<&Client, SearchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client::builder().build().map_err(transport("no HTTP client could be made"))?;
        Ok(self.client.get_or_init(|| client))
    }
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
    #[serde(default)]
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    title: String,
    url: String,
    #[serde(default)]
    description: String,
}

impl Entry {
    fn into_hit(self) -> SearchHit {
        SearchHit { title: plain(&self.title), url: self.url, snippet: plain(&self.description) }
    }
}

/// Without the marks around the words that were found, and without character references.
fn plain(text: &str) -> String {
    let marks = [
        ("<strong>", ""),
        ("</strong>", ""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, plain)| text.replace(mark, plain))
}

async fn read_bounded(mut response: Response) -> Result<Vec<u8>, SearchError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(transport("the answer broke off"))? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(transport("the answer is too long")(std::io::Error::other("no end in sight")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn transport<E: std::error::Error + Send + Sync + 'static>(message: &str) -> impl FnOnce(E) -> SearchError {
    let message = message.to_owned();
    move |error| SearchError::Transport { message, source: Box::new(error) }
}
