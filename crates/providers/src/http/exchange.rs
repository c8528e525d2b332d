//! One request and the beginning of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, Url};
use robota_core::{ProviderError, ProviderErrorKind};
use tokio::time::timeout;

use super::idle::within_idle_time;
use super::wait::{requested_wait, should_retry};
use super::{Frames, LazyClient};
use crate::api_error::ApiError;
use crate::endpoint::Endpoint;
use crate::excerpt::excerpt;
use crate::report::Reporter;
use crate::wire::{Encoded, Question};

/// Most bytes read of an answer that is no event stream.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Most bytes read of the answer to a question; the longest lists of models have some megabytes.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Slowest upload that is waited for, in bytes a second: a long request may take its time.
const SLOWEST_UPLOAD: u64 = 32 * 1024;

/// Where and how requests are posted.
pub(crate) struct Exchange {
    pub(crate) client: LazyClient,
    pub(crate) reporter: Arc<Reporter>,
    url: Url,
    headers: HeaderMap,
    idle_timeout: Duration,
}

/// How the service answered.
pub(crate) enum Answer {
    /// It streams.
    Stream { frames: Frames, request_id: Option<String> },
    /// It refused, or failed.
    Refused(Refusal),
    /// It sent something else.
    Foreign { error: ProviderError, body: Vec<u8> },
}

/// A report of a failure.
pub(crate) struct Refusal {
    pub(crate) error: ApiError,
    pub(crate) wait: Option<Duration>,
    /// The report as it came, at most 64 KiB of it.
    pub(crate) body: Vec<u8>,
}

impl Exchange {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        let Endpoint { url, headers, reporter, idle_timeout, connect_timeout, http2, .. } = endpoint;
        Self {
            client: LazyClient::new(&url, connect_timeout).with_http2(http2),
            reporter: Arc::new(reporter),
            url,
            headers,
            idle_timeout,
        }
    }

    /// Posts a request and reads the answer as far as its headers, or to the end when it is no stream. The
    /// server may send nothing at all for `idle_timeout`, or else the endpoint's own time.
    pub(crate) async fn post(
        &self,
        encoded: Encoded,
        idle_timeout: Option<Duration>,
    ) -> Result<Answer, ProviderError> {
        let client = self.client()?;
        let Encoded { body, url, headers, .. } = encoded;
        let body = Bytes::from(body);
        let size = body.len();
        let upload = Duration::from_secs(size as u64 / SLOWEST_UPLOAD);
        let idle = idle_timeout.unwrap_or(self.idle_timeout);
        let url = url.unwrap_or_else(|| self.url.clone());
        let sending = client.post(url).headers(self.headers.clone()).headers(headers).body(body).send();
        let response = timeout(idle.saturating_add(upload), sending)
            .await
            .map_err(|_| self.reporter.idle(idle))?
            .map_err(|error| self.reporter.unreachable(error))?;

        let status = response.status().as_u16();
        let request_id = request_id(response.headers());
        tracing::debug!(url = self.reporter.url(), bytes = size, status, request_id, "model request");
        match status {
            200..300 => self.event_stream(response, idle, request_id).await,
            300..400 => {
                let target = header(response.headers(), &LOCATION).unwrap_or("another address");
                Err(named(self.reporter.redirected(status, target), request_id.as_ref()))
            }
            _ => Ok(Answer::Refused(self.refusal(response, idle, request_id).await)),
        }
    }

    /// Asks a question and reads the answer, which may take as long as the endpoint may be idle.
    pub(crate) async fn ask<T>(&self, question: Question<T>) -> Result<T, ProviderError> {
        let client = self.client()?;
        let request = match question.body {
            Some(body) => client.post(question.url).body(body),
            None => client.get(question.url),
        };
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = timeout(self.idle_timeout, request.headers(headers).send())
            .await
            .map_err(|_| self.reporter.idle(self.idle_timeout))?
            .map_err(|error| self.reporter.unreachable(error))?;
        let status = response.status().as_u16();
        if !(200..300).contains(&status) {
            let Refusal { error, wait, .. } = self.refusal(response, self.idle_timeout, None).await;
            return Err(self.reporter.refused(&error, "", wait));
        }
        let content_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default().to_owned();
        let body = beginning(self.bytes(response, self.idle_timeout), MAX_ANSWER_BYTES).await;
        let answer = serde_json::from_slice(&body).ok().and_then(|value| (question.read)(&value));
        let not_an_answer = || {
            let beginning = excerpt(&String::from_utf8_lossy(&body));
            self.reporter.no_answer(status, &content_type, &beginning)
        };
        answer.ok_or_else(not_an_answer)
    }

    fn client(&self) -> Result<&reqwest::Client, ProviderError> {
        self.client.get().map_err(|cause| {
            let message = format!("the HTTP client cannot be built: {cause}");
            ProviderError::new(ProviderErrorKind::Configuration, message)
        })
    }

    async fn refusal(&self, response: Response, idle: Duration, request_id: Option<String>) -> Refusal {
        let status = response.status().as_u16();
        let wait = requested_wait(status, response.headers());
        let should_retry = should_retry(response.headers());
        let body = beginning(self.bytes(response, idle), MAX_REFUSAL_BYTES).await;
        let mut error = ApiError::from_body(status, &body);
        error.request_id = request_id.or(error.request_id);
        error.should_retry = should_retry;
        Refusal { error, wait, body }
    }

    /// The events of a good answer, once it is sure that it is made of events.
    async fn event_stream(
        &self,
        response: Response,
        idle: Duration,
        request_id: Option<String>,
    ) -> Result<Answer, ProviderError> {
        let status = response.status().as_u16();
        let content_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default().to_owned();
        let mut bytes = self.bytes(response, idle);
        if content_type.to_ascii_lowercase().starts_with("text/event-stream") {
            return Ok(Answer::Stream { frames: Frames::new(bytes), request_id });
        }
        // Some servers stream under another content type; what is sent first decides.
        let first = bytes.next().await.transpose();
        let first = first.map_err(|error| named(error, request_id.as_ref()))?.unwrap_or_default();
        let bytes = stream::once(std::future::ready(Ok(first.clone()))).chain(bytes).boxed();
        if looks_like_events(&first) {
            return Ok(Answer::Stream { frames: Frames::new(bytes), request_id });
        }
        let body = beginning(bytes, MAX_REFUSAL_BYTES).await;
        // Some gateways report failures with the status of a success.
        if let Some(mut error) = ApiError::from_good_status(&body) {
            error.request_id = request_id.or(error.request_id);
            return Ok(Answer::Refused(Refusal { error, wait: None, body }));
        }
        let beginning = excerpt(&String::from_utf8_lossy(&body));
        let error = self.reporter.not_a_stream(status, &content_type, &beginning);
        Ok(Answer::Foreign { error: named(error, request_id.as_ref()), body })
    }

    fn bytes(&self, response: Response, idle: Duration) -> BoxStream<'static, Result<Bytes, ProviderError>> {
        within_idle_time(response.bytes_stream(), idle, Arc::clone(&self.reporter))
    }
}

/// What can be had of the first bytes of a body.
async fn beginning(mut bytes: BoxStream<'static, Result<Bytes, ProviderError>>, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(Ok(more)) = bytes.next().await {
        let room = most - body.len();
        body.extend_from_slice(more.get(..room).unwrap_or(&more));
        if body.len() == most {
            break;
        }
    }
    body
}

/// The service's id of the request, under the names in use.
fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id"]
        .into_iter()
        .find_map(|name| header(headers, &HeaderName::from_static(name)))
        .map(str::to_owned)
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn named(error: ProviderError, request_id: Option<&String>) -> ProviderError {
    match request_id {
        Some(id) => error.with_request_id(id.clone()),
        None => error,
    }
}

/// Whether a body that begins with `first` can be server-sent events.
fn looks_like_events(first: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];
    let first = first.trim_ascii_start();
    BEGINNINGS
        .iter()
        .any(|beginning| first.starts_with(beginning) || (!first.is_empty() && beginning.starts_with(first)))
}
