//! WebFetch: one page as text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Response, Url};
use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::address::{AddressPolicy, Destination, Refused};
use super::cache::{Cache, Fetched, Request};
use super::client;
use super::names::NameService;
use super::options::WebFetchOptions;
use super::page;
use super::request_headers::request_headers;
use super::route::Steps;
use super::section::section;
use super::unreached::{unreached, with_causes};
use crate::failure::Failure;
use crate::input::WholeNumber;

/// Over the whole transfer, redirects included.
const DEADLINE: Duration = Duration::from_secs(30);
/// Characters of an error page.
const MAX_ERROR_CHARS: usize = 2_000;

pub(crate) struct WebFetch {
    policy: AddressPolicy,
    names: Arc<dyn NameService>,
    user_agent: String,
    reuse_private: bool,
    cache: Cache,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WebFetchInput {
    #[serde(alias = "uri")]
    url: String,
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    headers: Option<BTreeMap<String, String>>,
    /// Character to go on from in a long page.
    #[serde(default)]
    #[schemars(with = "WholeNumber")]
    offset: Option<WholeNumber>,
}

impl Tool for WebFetch {
    type Input = WebFetchInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "WebFetch",
            ToolClass::Network,
            "Fetches an http(s) address and returns HTML as Markdown, PDF as text, JSON and other text as is. A \
             redirect to another host is reported, not followed.",
        )
        .read_only()
        .with_spellings(&[
            ("url", &["uri"]),
        ])
    }

    fn access(&self, input: &WebFetchInput) -> Vec<Access> {
        let host = Url::parse(&input.url).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase));
        vec![Access::Url { url: input.url.clone(), host: host.unwrap_or_default() }]
    }

    async fn run(self: Arc<Self>, input: WebFetchInput, context: ToolContext) -> ToolResult {
        let fetched = tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Failure::cancelled()),
            fetched = tokio::time::timeout(DEADLINE, self.fetch(&input)) => fetched.unwrap_or_else(|_| {
                let message = format!("{} did not answer in full within {} s; it may be slow or very large", input.url, DEADLINE.as_secs());
                Err(Failure::new("timed_out", message))
            }),
        };
        Ok(fetched.unwrap_or_else(ToolOutcome::from))
    }
}

impl WebFetch {
    pub(crate) fn new(policy: AddressPolicy, names: Arc<dyn NameService>, options: WebFetchOptions) -> Self {
        let WebFetchOptions { user_agent, clock, reuse_private } = options;
        Self { policy, names, user_agent, reuse_private, cache: Cache::new(clock) }
    }

    async fn fetch(&self, input: &WebFetchInput) -> Result<ToolOutcome, Failure> {
        let offset = input.offset.map_or(0, WholeNumber::count);
        let headers = request_headers(input.headers.as_ref(), &self.user_agent)?;
        let request = Request::new(&input.url, &headers);
        if let Some(kept) = self.cache.get(&request, offset > 0) {
            return outcome(&input.url, &kept, true, offset);
        }
        let mut hop = self.judge(&input.url).await.map_err(|error| refusal(&error))?;
        let mut steps = Steps::default();
        loop {
            let response = get(&hop, &headers).await?;
            let (url, status) = (hop.parsed(), response.status().as_u16());
            let location = response.headers().get(header::LOCATION).map(|value| value.as_bytes());
            let location = location.map(String::from_utf8_lossy);
            let stopped = |error| refusal(&error).after(&format!("{url} redirects ({status}): "));
            let Some(next) = steps.next(url, status, location.as_deref()).map_err(stopped)? else {
                if !response.status().is_success() {
                    return Ok(failed_page(&input.url, url, response).await);
                }
                let fetched = self.take(response, &hop).await?;
                if status == 200 {
                    self.cache.put(request, Arc::clone(&fetched));
                }
                return outcome(&input.url, &fetched, false, offset);
            };
            self.policy.judge_form(&next).map_err(stopped)?;
            if let Some(elsewhere) = elsewhere(url, &next) {
                return Ok(told(&input.url, url, status, elsewhere, &next));
            }
            hop = self.policy.destination(next, &*self.names).await.map_err(stopped)?;
        }
    }

    async fn judge(&self, url: &str) -> Result<Destination, Refused> {
        self.policy.judge(url, &*self.names).await
    }

    /// The page of a response that leads nowhere else.
    async fn take(&self, response: Response, hop: &Destination) -> Result<Arc<Fetched>, Failure> {
        let (url, status) = (hop.parsed(), response.status());
        let only_to_read_on = !(hop.is_public() || self.reuse_private) || forbids_keeping(response.headers());
        let page = page::read(response, url).await.map_err(|error| {
            let told = with_causes(&error);
            Failure::new(error.code(), format!("{url} ({status}): {told}"))
        })?;
        Ok(Arc::new(Fetched { url: url.to_string(), status: status.as_u16(), page, only_to_read_on }))
    }
}

/// One request, to the addresses that were judged.
async fn get(hop: &Destination, headers: &HeaderMap) -> Result<Response, Failure> {
    let failed = |error: reqwest::Error| unreached(hop.url(), &error.without_url());
    let request = client::bound_to(hop).build().map_err(failed)?.get(hop.parsed().clone());
    request.headers(headers.clone()).send().await.map_err(failed)
}

fn forbids_keeping(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.to_ascii_lowercase().contains("no-store"))
}

fn refusal(refused: &Refused) -> Failure {
    let code = match refused {
        Refused::NotAnAddress { .. }
        | Refused::Relative { .. }
        | Refused::Spelling { .. }
        | Refused::TooLong { .. } => "invalid_argument",
        Refused::TooManyRedirects { .. } => "too_many_redirects",
        Refused::Unresolved { .. } | Refused::NoAddress { .. } => "name_not_found",
        _ => "address_refused",
    };
    Failure::new(code, refused.to_string())
}

/// What a redirect leads to when that is not for this call to fetch: consent was given for one host, and headers
/// that hold secrets were meant for one server and perhaps for an encrypted connection.
fn elsewhere(from: &Url, to: &Url) -> Option<&'static str> {
    let ports = (from.port_or_known_default(), to.port_or_known_default());
    match (from.scheme(), to.scheme()) {
        _ if from.host_str() != to.host_str() => Some("another host"),
        ("https", "http") => Some("an address without encryption"),
        ("http", "https") if ports == (Some(80), Some(443)) => None,
        _ if ports.0 != ports.1 => Some("another port"),
        _ => None,
    }
}

fn told(asked: &str, url: &Url, status: u16, elsewhere: &str, target: &Url) -> ToolOutcome {
    let text = format!("{url} redirects ({status}) to {elsewhere}: {target}\nFetch that to go on.");
    let facts =
        json!({"url": asked, "finalUrl": url.as_str(), "status": status, "redirect": target.as_str()});
    ToolOutcome::success(text).with_structured(facts)
}

fn outcome(asked: &str, fetched: &Fetched, cached: bool, offset: usize) -> Result<ToolOutcome, Failure> {
    let Fetched { url, status, page, .. } = fetched;
    let part = section(&page.text, offset)?;
    let media_type = if page.media_type.is_empty() { "unknown type" } else { &page.media_type };
    let title = page.title.as_ref().map(|title| format!("\nTitle: {title}")).unwrap_or_default();
    let mut facts = json!({
        "url": asked, "finalUrl": url, "status": status, "mediaType": page.media_type, "bytes": page.bytes,
        "cached": cached, "title": page.title,
    });
    if let (Some(next), Some(facts)) = (part.next, facts.as_object_mut()) {
        facts.insert("nextOffset".to_owned(), next.into());
    }
    let text = format!("{url} ({status}, {media_type}){title}\n\n{}", part.text);
    Ok(ToolOutcome::success(text).with_structured(facts))
}

async fn failed_page(asked: &str, url: &Url, response: Response) -> ToolOutcome {
    let status = response.status();
    // A failure without a readable page is told by its status alone.
    let mut text = page::read(response, url).await.map(|page| page.text).unwrap_or_default();
    if let Some((end, _)) = text.char_indices().nth(MAX_ERROR_CHARS) {
        text.truncate(end);
    }
    let facts = json!({"url": asked, "finalUrl": url.as_str(), "status": status.as_u16()});
    let text = format!("{url} answered {status}\n\n{text}");
    ToolOutcome::failure(text.trim_end()).with_error_code("http_status").with_structured(facts)
}
