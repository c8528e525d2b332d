//! The control API: machines are made, found, kept and ended (`spec/openapi.yml`).

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::error::{SandboxError, SandboxErrorKind};
use super::E2bOptions;
use super::answer;
use super::envd::Envd;
use crate::web::client_builder;

pub(super) struct Control {
    pub(super) options: E2bOptions,
    client: Client,
    base: String,
}

/// `Sandbox` of the API, as it comes of making and connecting.
#[derive(Deserialize)]
struct Machine {
    #[serde(rename = "sandboxID")]
    id: String,
    domain: Option<String>,
    #[serde(rename = "envdAccessToken")]
    access_token: Option<String>,
    #[serde(rename = "trafficAccessToken")]
    traffic_token: Option<String>,
}

/// `SnapshotInfo` of the API.
#[derive(Deserialize)]
struct SnapshotInfo {
    #[serde(rename = "snapshotID")]
    id: String,
}

impl Control {
    pub(super) fn new(options: E2bOptions) -> Result<Self, SandboxError> {
        let wrong = |what: &str, error: reqwest::Error| {
            SandboxError::new(SandboxErrorKind::Failed, format!("cannot use E2B: {what}"))
                .with_source(error.without_url())
        };
        // A proxy is given, not found in the environment.
        let mut builder = client_builder().no_proxy();
        if let Some(proxy) = &options.proxy {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| wrong("the proxy is no URL", error))?;
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| wrong("no HTTP client", error))?;
        if !is_host(&options.domain) {
            let message = format!("cannot use E2B: {:?} is no domain", options.domain);
            return Err(SandboxError::new(SandboxErrorKind::Failed, message));
        }
        let base = options.api_url.clone().unwrap_or_else(|| format!("https://api.{}", options.domain));
        Ok(Self { base: base.trim_end_matches('/').to_owned(), client, options })
    }

    /// A machine from a template, or from a snapshot, which is one.
    pub(super) async fn create(&self, template: &str) -> Result<Envd, SandboxError> {
        let body = json!({
            "templateID": template,
            "timeout": seconds(self.options.lifetime),
            "envVars": self.options.environment,
            "secure": true,
            "allow_internet_access": self.options.internet_access,
        });
        let action = "make a sandbox";
        let made = self.ask(action, Method::POST, "/sandboxes", Some(body)).await?;
        self.reach(answer::json(action, made).await?)
    }

    /// A machine that runs or is paused.
    pub(super) async fn connect(&self, id: &str) -> Result<Envd, SandboxError> {
        let body = json!({"timeout": seconds(self.options.lifetime)});
        let action = "connect to the sandbox";
        let path = self.path(id, "/connect")?;
        let found = self.ask(action, Method::POST, &path, Some(body)).await?;
        self.reach(answer::json(action, found).await?)
    }

    /// Takes a snapshot; where there is no such thing, pauses the machine.
    pub(super) async fn snapshot(&self, id: &str) -> Result<String, SandboxError> {
        let action = "take a snapshot of the sandbox";
        let path = self.path(id, "/snapshots")?;
        match self.ask(action, Method::POST, &path, Some(json!({}))).await {
            Ok(taken) => answer::json::<SnapshotInfo>(action, taken).await.map(|snapshot| snapshot.id),
            Err(error)
                if matches!(error.kind(), SandboxErrorKind::NotFound | SandboxErrorKind::Unsupported) =>
            {
                self.pause(id).await.map(|()| id.to_owned())
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn pause(&self, id: &str) -> Result<(), SandboxError> {
        let path = self.path(id, "/pause")?;
        match self.ask("pause the sandbox", Method::POST, &path, Some(json!({}))).await {
            // It is paused already.
            Err(error) if error.kind() == SandboxErrorKind::AlreadyExists => Ok(()),
            done => done.map(drop),
        }
    }

    /// The machine that a snapshot stands for. Those that machines are made from are written with a tag
    /// (`name:tag`); anything else is first taken for a machine.
    pub(super) async fn restore(&self, snapshot: &str) -> Result<Envd, SandboxError> {
        if snapshot.is_empty() || snapshot.contains(char::is_control) {
            let message = format!("{snapshot:?} is no snapshot of E2B");
            return Err(SandboxError::new(SandboxErrorKind::NotFound, message));
        }
        if !is_id(snapshot) {
            return self.create(snapshot).await;
        }
        match self.connect(snapshot).await {
            Err(error) if error.kind() == SandboxErrorKind::NotFound => self.create(snapshot).await,
            connected => connected,
        }
    }

    pub(super) async fn extend(&self, id: &str, lifetime: Duration) -> Result<(), SandboxError> {
        let (path, body) = (self.path(id, "/timeout")?, json!({"timeout": seconds(lifetime)}));
        self.ask("extend the life of the sandbox", Method::POST, &path, Some(body)).await.map(drop)
    }

    pub(super) async fn kill(&self, id: &str) -> Result<(), SandboxError> {
        let path = self.path(id, "")?;
        match self.ask("end the sandbox", Method::DELETE, &path, None).await {
            Err(error) if error.kind() == SandboxErrorKind::NotFound => Ok(()),
            done => done.map(drop),
        }
    }

    fn path(&self, id: &str, rest: &str) -> Result<String, SandboxError> {
        if is_id(id) {
            return Ok(format!("/sandboxes/{id}{rest}"));
        }
        Err(SandboxError::new(SandboxErrorKind::NotFound, format!("{id:?} is no sandbox of E2B")))
    }

    async fn ask(
        &self,
        action: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Response, SandboxError> {
        let request: RequestBuilder = self
            .client
            .request(method, format!("{}{path}", self.base))
            .timeout(self.options.request_timeout)
            .header("X-API-Key", self.options.api_key.expose_secret());
        let request = match body {
            Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
            None => request,
        };
        let answered = answer::succeeded(action, request.send().await).await;
        answered.map_err(|error| error.without(self.options.api_key.expose_secret()))
    }

    /// How the daemon of `machine` is reached.
    fn reach(&self, machine: Machine) -> Result<Envd, SandboxError> {
        let domain = machine.domain.filter(|domain| !domain.is_empty());
        let domain = domain.as_deref().unwrap_or(&self.options.domain);
        // Both become part of an address that gets a token.
        if !is_id(&machine.id) || !is_host(domain) {
            return Err(answer::not_understood("reach the sandbox"));
        }
        let base = match &self.options.sandbox_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://{}-{}.{domain}", Envd::PORT, machine.id),
        };
        Ok(Envd {
            id: machine.id,
            base,
            client: self.client.clone(),
            user: self.options.user.clone(),
            access_token: machine.access_token.map(SecretString::from),
            traffic_token: machine.traffic_token.map(SecretString::from),
            request_timeout: self.options.request_timeout,
        })
    }
}

fn seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 128
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn is_host(domain: &str) -> bool {
    !domain.is_empty() && domain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
}
