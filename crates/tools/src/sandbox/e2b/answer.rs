//! What an answer of the provider means when it is not the one that was wanted.

use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::error::{SandboxError, SandboxErrorKind};

/// Bytes of an answer that are held in memory; a file is bounded by itself.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Characters shown of what a server says of an error.
const SHOWN: usize = 300;

/// An error as the control API (a number and a message) and Connect (a name and a message) write it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    code: Value,
    message: String,
}

/// The answer to a request, when it says that it succeeded.
pub(super) async fn succeeded(
    action: &str,
    sent: Result<Response, reqwest::Error>,
) -> Result<Response, SandboxError> {
    let response = sent.map_err(|error| unreachable_error(action, error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let body = body(action, response, 64 * 1024).await.unwrap_or_default();
    let problem = serde_json::from_slice(&body).unwrap_or_else(|_| Problem {
        code: Value::Null,
        message: String::from_utf8_lossy(&body).into_owned(),
    });
    Err(problem.into_error(action, Some(status)).with_retry_after(wait.map(Duration::from_secs)))
}

/// The JSON in the body of `response`.
pub(super) async fn json<T: DeserializeOwned>(action: &str, response: Response) -> Result<T, SandboxError> {
    let body = body(action, response, MAX_ANSWER).await?;
    serde_json::from_slice(&body).map_err(|error| not_understood(action).with_source(error))
}

/// The whole body, at most `limit` bytes.
pub(super) async fn body(
    action: &str,
    mut response: Response,
    limit: usize,
) -> Result<Vec<u8>, SandboxError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable_error(action, error))? {
        if body.len() + chunk.len() > limit {
            let message = format!("cannot {action}: it is larger than {} MiB", limit / (1024 * 1024));
            return Err(SandboxError::new(SandboxErrorKind::TooLarge, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

pub(super) fn unreachable_error(action: &str, error: reqwest::Error) -> SandboxError {
    // The address holds no secret, but may hold a path of the user.
    let error = error.without_url();
    if error.is_timeout() {
        let message = format!("cannot {action}: no answer within the time for a request");
        return SandboxError::new(SandboxErrorKind::Timeout, message).with_source(error);
    }
    let why = if error.is_connect() { "it cannot be reached" } else { "the connection broke" };
    SandboxError::new(SandboxErrorKind::Transport, format!("cannot {action}: {why}")).with_source(error)
}

pub(super) fn not_understood(action: &str) -> SandboxError {
    let message = format!("cannot {action}: the answer is not what the protocol allows");
    SandboxError::new(SandboxErrorKind::Protocol, message)
}

impl Problem {
    pub(super) fn into_error(self, action: &str, status: Option<StatusCode>) -> SandboxError {
        let kind = self.code.as_str().and_then(|code| kind_of_code(code, &self.message));
        let kind = kind.or_else(|| status.map(|status| kind_of_status(status, &self.message)));
        let kind = kind.unwrap_or(SandboxErrorKind::Failed);
        let mut said: String =
            self.message.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
        if said.trim().is_empty() {
            said = status.map_or_else(|| "no reason given".to_owned(), |status| status.to_string());
        }
        let error = SandboxError::new(kind, format!("cannot {action}: {}", said.trim()));
        match hint(kind) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

fn hint(kind: SandboxErrorKind) -> Option<&'static str> {
    match kind {
        SandboxErrorKind::Unauthorized => Some("check the key of E2B"),
        SandboxErrorKind::RateLimited => Some("wait before the next request"),
        SandboxErrorKind::Transport => Some("the sandbox may have reached the end of its lifetime"),
        _ => None,
    }
}

fn kind_of_code(code: &str, message: &str) -> Option<SandboxErrorKind> {
    Some(match code {
        "not_found" => SandboxErrorKind::NotFound,
        "already_exists" => SandboxErrorKind::AlreadyExists,
        "permission_denied" => SandboxErrorKind::NotPermitted,
        "unauthenticated" => SandboxErrorKind::Unauthorized,
        "resource_exhausted" => SandboxErrorKind::RateLimited,
        "invalid_argument" => of_argument(message),
        "unimplemented" => SandboxErrorKind::Unsupported,
        "deadline_exceeded" => SandboxErrorKind::Timeout,
        "canceled" => SandboxErrorKind::Cancelled,
        "unavailable" => SandboxErrorKind::Transport,
        // Older daemons say so of what is not there.
        "unknown" if message.to_ascii_lowercase().contains("no such file") => SandboxErrorKind::NotFound,
        _ => return None,
    })
}

fn kind_of_status(status: StatusCode, message: &str) -> SandboxErrorKind {
    match status.as_u16() {
        400 | 422 => of_argument(message),
        401 => SandboxErrorKind::Unauthorized,
        403 => SandboxErrorKind::NotPermitted,
        404 => SandboxErrorKind::NotFound,
        405 | 501 => SandboxErrorKind::Unsupported,
        408 | 504 => SandboxErrorKind::Timeout,
        409 => SandboxErrorKind::AlreadyExists,
        413 => SandboxErrorKind::TooLarge,
        429 => SandboxErrorKind::RateLimited,
        502 | 503 => SandboxErrorKind::Transport,
        _ => SandboxErrorKind::Failed,
    }
}

fn of_argument(message: &str) -> SandboxErrorKind {
    if message.contains("directory") { SandboxErrorKind::WrongKind } else { SandboxErrorKind::InvalidPath }
}
