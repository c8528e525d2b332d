//! The video tasks of Ark: `POST`, `GET` and `DELETE` on `/contents/generations/tasks`.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use reqwest::{Method, Response, Url};
use robota_core::{ProviderError, ProviderErrorKind};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::video::{VideoGenerator, VideoRequest, VideoStatus, VideoTask};
use crate::ProviderSpec;
use crate::api_error::ApiError;
use crate::connection::{Headers, base_url, key_source, missing_key, present, wants_key};
use crate::excerpt::excerpt;
use crate::http::LazyClient;
use crate::report::Reporter;

/// Most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Videos made by ByteDance Ark (Seedance).
pub struct ArkVideo {
    client: LazyClient,
    tasks: Url,
    headers: HeaderMap,
    reporter: Reporter,
    idle_timeout: Duration,
}

impl ArkVideo {
    /// The service that `spec` describes, with key and address of its chat.
    ///
    /// # Errors
    ///
    /// `Configuration`, when the vendor's own endpoint has no key, or an option cannot be used.
    pub fn new(spec: ProviderSpec) -> Result<Self, ProviderError> {
        let ProviderSpec { kind, api_key, auth_token, connection, options, .. } = spec;
        let vendor = kind.definition();
        let mut tasks = base_url(vendor, &connection)?;
        let mut headers = Headers::new();
        match present(api_key.as_ref()).or(present(auth_token.as_ref())) {
            Some(key) => headers.bearer(key, key_source(vendor))?,
            None if wants_key(vendor, &tasks) => return Err(missing_key(vendor)),
            None => {}
        }
        headers.extra(&options.headers)?;
        let (headers, secrets) = headers.finish();
        let path = match tasks.path().trim_end_matches('/') {
            "" => "/api/v3".to_owned(),
            path => path.strip_suffix("/chat/completions").unwrap_or(path).to_owned(),
        };
        tasks.set_path(&format!("{path}/contents/generations/tasks"));
        let client = LazyClient::new(&tasks, connection.connect_timeout);
        let reporter = Reporter::new(vendor, &tasks, secrets).with_sources(&connection);
        Ok(Self { client, tasks, headers, reporter, idle_timeout: connection.idle_timeout })
    }

    /// Where tasks are posted, without password and query.
    #[must_use]
    pub fn url(&self) -> &str {
        self.reporter.url()
    }

    /// Sends one request and reads the JSON of the answer.
    async fn exchange(
        &self,
        method: Method,
        url: Url,
        body: Option<Value>,
        model: &str,
    ) -> Result<Value, ProviderError> {
        let client = self.client.get().map_err(|cause| {
            let message = format!("the HTTP client cannot be built: {cause}");
            ProviderError::new(ProviderErrorKind::Configuration, message)
        })?;
        let mut request = client.request(method, url).headers(self.headers.clone());
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let answered = timeout(self.idle_timeout, async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok((status, bounded(response).await?))
        });
        let answered = answered.await.map_err(|_| self.reporter.idle(self.idle_timeout))?;
        let (status, body) = answered.map_err(|error| self.reporter.unreachable(error))?;
        match status {
            200..300 if body.trim_ascii().is_empty() => Ok(Value::Null),
            200..300 => serde_json::from_slice(&body).map_err(|_| self.not_an_answer(status, &body)),
            _ => Err(self.reporter.refused(&ApiError::from_body(status, &body), model, None)),
        }
    }

    fn task_url(&self, task: &str) -> Url {
        let mut url = self.tasks.clone();
        // Any address over HTTP has segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(task);
        }
        url
    }

    fn not_an_answer(&self, status: u16, body: &[u8]) -> ProviderError {
        self.reporter.no_answer(status, "JSON", &excerpt(&String::from_utf8_lossy(body)))
    }
}

impl VideoGenerator for ArkVideo {
    fn create<'a>(&'a self, request: &'a VideoRequest) -> BoxFuture<'a, Result<String, ProviderError>> {
        Box::pin(async {
            let body = body(request);
            let answer = self.exchange(Method::POST, self.tasks.clone(), Some(body), &request.model).await?;
            let id = answer.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            id.map(str::to_owned).ok_or_else(|| self.not_an_answer(200, answer.to_string().as_bytes()))
        })
    }

    fn poll<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<VideoTask, ProviderError>> {
        Box::pin(async move {
            let answer = self.exchange(Method::GET, self.task_url(task), None, "").await?;
            read(task, &answer).ok_or_else(|| self.not_an_answer(200, answer.to_string().as_bytes()))
        })
    }

    fn cancel<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            self.exchange(Method::DELETE, self.task_url(task), None, "").await?;
            Ok(())
        })
    }
}

impl fmt::Debug for ArkVideo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArkVideo").field("url", &self.url()).finish_non_exhaustive()
    }
}

fn body(request: &VideoRequest) -> Value {
    let mut content = vec![json!({"type": "text", "text": request.prompt})];
    if let Some(url) = &request.image_url {
        content.push(json!({"type": "image_url", "image_url": {"url": url}}));
    }
    let mut body = json!({"model": request.model, "content": content});
    let optional = [
        ("ratio", request.ratio.clone().map(Value::from)),
        ("duration", request.duration.map(Value::from)),
        ("resolution", request.resolution.clone().map(Value::from)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

fn read(id: &str, answer: &Value) -> Option<VideoTask> {
    let text = |place: &str| answer.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let status = match text("/status")?.as_str() {
        "queued" => VideoStatus::Queued,
        "running" => VideoStatus::Running,
        "succeeded" => VideoStatus::Succeeded,
        "failed" => VideoStatus::Failed,
        "cancelled" => VideoStatus::Cancelled,
        "expired" => VideoStatus::Expired,
        other => VideoStatus::Other(other.to_owned()),
    };
    let failure = text("/error/message").map(|message| (text("/error/code").unwrap_or_default(), message));
    Some(VideoTask { url: text("/content/video_url"), failure, ..VideoTask::new(id, status) })
}

/// What can be had of the body, within bounds.
async fn bounded(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(more) = response.chunk().await? {
        let room = MAX_ANSWER_BYTES - body.len();
        body.extend_from_slice(more.get(..room).unwrap_or(&more));
        if body.len() == MAX_ANSWER_BYTES {
            break;
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
