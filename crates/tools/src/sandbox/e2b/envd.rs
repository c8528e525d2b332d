//! The daemon of a machine: how it is asked.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::answer;

pub(super) struct Envd {
    pub(super) id: String,
    pub(super) base: String,
    pub(super) client: Client,
    pub(super) user: String,
    pub(super) access_token: Option<SecretString>,
    pub(super) traffic_token: Option<SecretString>,
    pub(super) request_timeout: Duration,
}

impl Envd {
    /// Where the daemon listens in its machine.
    pub(super) const PORT: u16 = 49983;

    /// Calls a method that gives one answer, by the Connect protocol with JSON.
    pub(super) async fn call(
        &self,
        action: &str,
        method: &str,
        body: &Value,
    ) -> Result<Response, SandboxError> {
        let request = self.client.post(format!("{}{method}", self.base)).timeout(self.request_timeout);
        let request =
            request.header("Content-Type", "application/json").header("Connect-Protocol-Version", "1");
        answer::succeeded(action, self.signed(request).body(body.to_string()).send().await).await
    }

    /// The address of a file.
    pub(super) fn file_url(&self, path: &str) -> Result<Url, SandboxError> {
        let parameters = [("path", path), ("username", &self.user)];
        Url::parse_with_params(&format!("{}/files", self.base), parameters).map_err(|error| {
            let message = format!("the address of the sandbox is no URL: {error}");
            SandboxError::new(SandboxErrorKind::Failed, message).with_source(error)
        })
    }

    /// Says who asks, and which machine is meant where the address does not tell.
    pub(super) fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        let user = STANDARD.encode(format!("{}:", self.user));
        let mut request = request
            .header("Authorization", format!("Basic {user}"))
            .header("E2b-Sandbox-Id", &self.id)
            .header("E2b-Sandbox-Port", Self::PORT.to_string());
        if let Some(token) = &self.access_token {
            request = request.header("X-Access-Token", token.expose_secret());
        }
        if let Some(token) = &self.traffic_token {
            request = request.header("E2b-Traffic-Access-Token", token.expose_secret());
        }
        request
    }
}

/// `path` as JSON and addresses have it.
pub(super) fn text(path: &Path) -> Result<&str, SandboxError> {
    path.to_str().ok_or_else(|| {
        let message = format!("{} is not UTF-8, which names in an E2B sandbox are", path.display());
        SandboxError::new(SandboxErrorKind::InvalidPath, message)
    })
}
