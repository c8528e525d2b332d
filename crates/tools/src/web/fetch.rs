//! WebFetch: one page as text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::address::AddressPolicy;
use super::client;
use super::page;
use crate::failure::Failure;

/// Over the whole transfer, redirects included.
const DEADLINE: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
/// Characters of an error page.
const MAX_ERROR_CHARS: usize = 2_000;
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/*;q=0.8, */*;q=0.1";

pub(crate) struct WebFetch {
    pub(crate) policy: AddressPolicy,
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
        let mut url = Url::parse(&input.url).map_err(|error| {
            Failure::new("invalid_argument", format!("{} is not a web address: {error}", input.url))
        })?;
        let headers = headers(input)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(&url, &headers).await?;
            let Some(target) = redirect_target(&response, &url) else { return report(response, &url).await };
            if target.host_str() != url.host_str() {
                let status = response.status().as_u16();
                let text =
                    format!("{url} redirects ({status}) to another host: {target}\nFetch that to go on.");
                let facts = json!({"url": url.as_str(), "status": status, "redirect": target.as_str()});
                return Ok(ToolOutcome::success(text).with_structured(facts));
            }
            url = target;
        }
        let message = format!("{} redirects more than {MAX_REDIRECTS} times", input.url);
        Err(Failure::new("too_many_redirects", message))
    }

    /// One request, to an address that was checked.
    async fn get(&self, url: &Url, headers: &HeaderMap) -> Result<Response, Failure> {
        let addresses = self.policy.resolve(url).await;
        let addresses = addresses.map_err(|refused| Failure::new("address_refused", refused.to_string()))?;
        let host = url.host_str().unwrap_or_default();
        // A proxy would resolve the name again and reach what was not checked.
        let client = client::builder().no_proxy().resolve_to_addrs(host, &addresses).build();
        let failed = |error| Failure::new("network", format!("cannot fetch {url}: {}", with_causes(&error)));
        let request = client.map_err(failed)?.get(url.clone()).headers(headers.clone());
        request.send().await.map_err(|error| failed(error.without_url()))
    }
}

fn headers(input: &WebFetchInput) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
    for (name, value) in input.headers.iter().flatten() {
        let name = name.parse::<HeaderName>().map_err(|_| invalid_header(name))?;
        let value = value.parse::<HeaderValue>().map_err(|_| invalid_header(name.as_str()))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn invalid_header(name: &str) -> Failure {
    Failure::new("invalid_argument", format!("the header {name:?} is not valid in HTTP"))
}

/// Where a response sends the client on.
fn redirect_target(response: &Response, url: &Url) -> Option<Url> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION).filter(|_| redirects)?;
    url.join(location.to_str().ok()?).ok()
}

async fn report(response: Response, url: &Url) -> Result<ToolOutcome, Failure> {
    let status = response.status();
    let read = page::read(response).await;
    if !status.is_success() {
        return Ok(refused(status, url, read.map(|page| page.text).unwrap_or_default()));
    }
    let page = read.map_err(|error| Failure::new("no_text", format!("{url} ({status}): {error}")))?;
    let media_type = if page.media_type.is_empty() { "unknown type" } else { &page.media_type };
    let facts = json!({
        "url": url.as_str(), "status": status.as_u16(), "contentType": page.media_type, "bytes": page.bytes,
    });
    let text = format!("{url} ({}, {media_type})\n\n{}", status.as_u16(), page.text);
    Ok(ToolOutcome::success(text).with_structured(facts))
}

fn refused(status: StatusCode, url: &Url, mut text: String) -> ToolOutcome {
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
