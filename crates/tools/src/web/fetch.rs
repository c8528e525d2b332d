//! WebFetch: one page as text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Response, StatusCode, Url};
use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::address::{AddressPolicy, Destination, Refused};
use super::client;
use super::names::NameService;
use super::page;
use super::request_headers::request_headers;
use super::route::Steps;
use crate::failure::Failure;

/// Over the whole transfer, redirects included.
const DEADLINE: Duration = Duration::from_secs(30);
/// Characters of an error page.
const MAX_ERROR_CHARS: usize = 2_000;

pub(crate) struct WebFetch {
    pub(crate) policy: AddressPolicy,
    pub(crate) names: Arc<dyn NameService>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WebFetchInput {
    #[serde(alias = "uri")]
    url: String,
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    headers: Option<BTreeMap<String, String>>,
}

impl Tool for WebFetch {
    type Input = WebFetchInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "WebFetch",
            ToolClass::Network,
            "Fetches an http(s) address and returns HTML as Markdown, JSON and other text as is. A redirect to \
             another host is reported, not followed.",
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
                let message = format!("{} did not answer in full within {} s", input.url, DEADLINE.as_secs());
                Err(Failure::new("timed_out", message))
            }),
        };
        Ok(fetched.unwrap_or_else(ToolOutcome::from))
    }
}

impl WebFetch {
    async fn fetch(&self, input: &WebFetchInput) -> Result<ToolOutcome, Failure> {
        let headers = request_headers(input.headers.as_ref())?;
        let names = &*self.names;
        let mut hop = self.policy.judge(&input.url, names).await.map_err(|error| refusal(&error))?;
        let mut steps = Steps::default();
        loop {
            let response = get(&hop, &headers).await?;
            let (url, status) = (hop.parsed(), response.status().as_u16());
            let location = response.headers().get(header::LOCATION).map(|value| value.as_bytes());
            let location = location.map(String::from_utf8_lossy);
            let stopped = |error| refusal(&error).after(&format!("{url} redirects ({status}): "));
            let Some(next) = steps.next(url, status, location.as_deref()).map_err(stopped)? else {
                return report(response, url).await;
            };
            self.policy.judge_form(&next).map_err(stopped)?;
            if let Some(elsewhere) = elsewhere(url, &next) {
                return Ok(told(url, status, elsewhere, &next));
            }
            hop = self.policy.destination(next, names).await.map_err(stopped)?;
        }
    }
}

/// One request, to the addresses that were judged.
async fn get(hop: &Destination, headers: &HeaderMap) -> Result<Response, Failure> {
    let failed =
        |error| Failure::new("network", format!("cannot fetch {}: {}", hop.url(), with_causes(&error)));
    let request = client::bound_to(hop).build().map_err(failed)?.get(hop.parsed().clone());
    request.headers(headers.clone()).send().await.map_err(|error| failed(error.without_url()))
}

fn refusal(refused: &Refused) -> Failure {
    let code = match refused {
        Refused::NotAnAddress { .. } | Refused::Spelling { .. } | Refused::TooLong { .. } => {
            "invalid_argument"
        }
        Refused::TooManyRedirects { .. } => "too_many_redirects",
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

fn told(url: &Url, status: u16, elsewhere: &str, target: &Url) -> ToolOutcome {
    let text = format!("{url} redirects ({status}) to {elsewhere}: {target}\nFetch that to go on.");
    let facts = json!({"url": url.as_str(), "status": status, "redirect": target.as_str()});
    ToolOutcome::success(text).with_structured(facts)
}

async fn report(response: Response, url: &Url) -> Result<ToolOutcome, Failure> {
    let status = response.status();
    let read = page::read(response).await;
    if !status.is_success() {
        return Ok(failed_page(status, url, read.map(|page| page.text).unwrap_or_default()));
    }
    let page = read.map_err(|error| Failure::new("no_text", format!("{url} ({status}): {error}")))?;
    let media_type = if page.media_type.is_empty() { "unknown type" } else { &page.media_type };
    let facts = json!({
        "url": url.as_str(), "status": status.as_u16(), "contentType": page.media_type, "bytes": page.bytes,
    });
    let text = format!("{url} ({}, {media_type})\n\n{}", status.as_u16(), page.text);
    Ok(ToolOutcome::success(text).with_structured(facts))
}

fn failed_page(status: StatusCode, url: &Url, mut text: String) -> ToolOutcome {
    if let Some((end, _)) = text.char_indices().nth(MAX_ERROR_CHARS) {
        text.truncate(end);
    }
    let facts = json!({"url": url.as_str(), "status": status.as_u16()});
    let text = format!("{url} answered {status}\n\n{text}");
    ToolOutcome::failure(text.trim_end()).with_error_code("http_status").with_structured(facts)
}

/// The error and what caused it, on one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
