//! What all search engines have in common: one HTTP client, bounded answers, typed failures.

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::client;
use super::plain::{one_line, plain};
use super::search::{SearchError, SearchHit};

/// Bytes of an answer; twenty results are far smaller.
const MAX_ANSWER: usize = 4_000_000;
/// Characters of an engine's error that are passed on.
const MAX_DETAIL: usize = 300;
const MAX_TITLE: usize = 300;
const MAX_SNIPPET: usize = 1_200;
/// Bytes of an address; results with a longer one are left out.
const MAX_URL: usize = 2_000;

/// The HTTP side of an engine. The user chose its address, so that the address policy does not concern it; redirects
/// are not followed, because they would carry the key elsewhere.
#[derive(Debug)]
pub(super) struct Engine {
    base_url: String,
    client: OnceLock<Client>,
}

/// An answer that was not the results.
pub(super) struct Refusal {
    pub(super) status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A result, in the words of any of the engines.
#[derive(Deserialize)]
pub(super) struct Entry {
    #[serde(default)]
    title: Option<String>,
    url: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

impl Entry {
    /// `None` when it cannot be shown.
    pub(super) fn into_hit(self) -> Option<SearchHit> {
        let excerpt = self.content.or(self.description).unwrap_or_default();
        hit(&self.title.unwrap_or_default(), self.url, &excerpt)
    }
}

impl Engine {
    pub(super) fn at(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), client: OnceLock::new() }
    }

    /// The address of `path`, which begins with a slash.
    pub(super) fn url(&self, path: &str) -> Result<Url, SearchError> {
        let address = format!("{}{path}", self.base_url.trim_end_matches('/'));
        Url::parse(&address).map_err(transport("the address of the service is not valid"))
    }

    /// The client is made for the first search.
    pub(super) fn client(&self) -> Result<&Client, SearchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client::builder().build().map_err(transport("no HTTP client could be made"))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Sends the request; what is not status 200 is for `explain` to say, as far as it is special to the engine.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        explain: impl FnOnce(&Refusal) -> Option<SearchError>,
    ) -> Result<T, SearchError> {
        let sent = request.header("Accept", "application/json").send().await;
        let unreached = |error: reqwest::Error| transport("the service was not reached")(error.without_url());
        let response = sent.map_err(unreached)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = read_bounded(response).await?;
        let refusal = if status == 200 && !says_only_why_not(&body) {
            return serde_json::from_slice(&body).map_err(transport("the answer was not understood"));
        } else {
            Refusal { status, headers, body }
        };
        Err(explain(&refusal).unwrap_or_else(|| refusal.into_error()))
    }
}

impl Refusal {
    /// What the engine says, in one line.
    pub(super) fn detail(&self) -> String {
        let told = serde_json::from_slice::<Value>(&self.body).ok().and_then(|body| in_words(&body));
        let told = told.map(|told| one_line(&told));
        first_chars(&told.unwrap_or_else(|| plain(&String::from_utf8_lossy(&self.body))), MAX_DETAIL)
    }

    /// The string at a place of the answer, given as a JSON pointer.
    pub(super) fn field(&self, pointer: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.pointer(pointer)?.as_str().map(str::to_owned)
    }

    fn into_error(self) -> SearchError {
        let status = self.status;
        match status {
            401 | 403 => SearchError::Key { status },
            429 => SearchError::RateLimited { retry_after: self.retry_after() },
            300..=399 => {
                let to =
                    self.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("another address");
                let detail =
                    format!("it redirects to {to}, which is not followed; set the address it has now");
                SearchError::Refused { status, detail: first_chars(&detail, MAX_DETAIL) }
            }
            _ => SearchError::Refused { status, detail: self.detail() },
        }
    }

    /// In seconds as the standard has it, or as Brave does: the first of several windows.
    fn retry_after(&self) -> Option<Duration> {
        let header = self.headers.get(RETRY_AFTER).or_else(|| self.headers.get("x-ratelimit-reset"))?;
        let seconds = header.to_str().ok()?.split(',').next()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}

/// Whether an answer that says that it succeeded has an error in the place of results.
fn says_only_why_not(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    body.get("web").is_none() && body.get("results").is_none() && in_words(&body).is_some()
}

/// The results that can be understood: one that is odd takes none of the others away.
pub(super) fn understood<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let results = Option::<Vec<Value>>::deserialize(from)?.unwrap_or_default();
    Ok(results.into_iter().filter_map(|result| serde_json::from_value(result).ok()).collect())
}

/// The places where services put what went wrong.
fn in_words(body: &Value) -> Option<String> {
    let places = ["/detail/error", "/detail", "/error/detail", "/error/message", "/error", "/message"];
    places.iter().find_map(|place| body.pointer(place)?.as_str().map(str::to_owned))
}

/// A result with the bounds that every engine's results have; `None` for one that is no page.
fn hit(title: &str, url: String, snippet: &str) -> Option<SearchHit> {
    let is_page = url.starts_with("https://") || url.starts_with("http://");
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    let is_page = is_page && url.len() <= MAX_URL && !url.contains(is_odd);
    is_page.then(|| SearchHit {
        title: first_chars(&plain(title), MAX_TITLE),
        url,
        snippet: first_chars(&plain(snippet), MAX_SNIPPET),
    })
}

fn first_chars(text: &str, count: usize) -> String {
    match text.char_indices().nth(count) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

async fn read_bounded(mut response: Response) -> Result<Vec<u8>, SearchError> {
    let mut body = Vec::new();
    let broken = |error: reqwest::Error| transport("the answer broke off")(error.without_url());
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(transport("the answer is too long")(io::Error::other("no end in sight")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

pub(super) fn transport<E: std::error::Error + Send + Sync + 'static>(
    message: impl fmt::Display,
) -> impl FnOnce(E) -> SearchError {
    move |error| SearchError::Transport { message: message.to_string(), source: Box::new(error) }
}
