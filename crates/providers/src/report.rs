//! Errors as a person reads them: what happened, where, and what to do.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use reqwest::Url;
use robota_core::{ProviderDefinition, ProviderError, ProviderErrorKind as Kind};
use secrecy::{ExposeSecret, SecretString};

use crate::api_error::ApiError;
use crate::connection::{ConnectionOptions, key_source, service};

/// Words every error of one provider, and keeps its keys out of them.
pub(crate) struct Reporter {
    service: String,
    url: String,
    host: String,
    /// Where a person can correct the key.
    key_source: Cow<'static, str>,
    /// Where a person can correct the address.
    base_url_source: Cow<'static, str>,
    secrets: Vec<SecretString>,
}

impl Reporter {
    pub(crate) fn new(vendor: &ProviderDefinition, url: &Url, secrets: Vec<SecretString>) -> Self {
        let host = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        Self {
            service: service(vendor, url),
            url: format!("{}://{}{}", url.scheme(), shown_host(url), url.path()),
            host,
            key_source: key_source(vendor).into(),
            base_url_source: format!("{} or the provider's settings", vendor.base_url_variable).into(),
            secrets,
        }
    }

    /// The same with the places that the host took key and address from, where it says.
    pub(crate) fn with_sources(mut self, connection: &ConnectionOptions) -> Self {
        if let Some(source) = &connection.key_source {
            self.key_source = source.clone().into();
        }
        if let Some(source) = &connection.base_url_source {
            self.base_url_source = source.clone().into();
        }
        self
    }

    /// The address without password and query.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The service refused the request, or failed.
    pub(crate) fn refused(&self, refusal: &ApiError, model: &str, wait: Option<Duration>) -> ProviderError {
        let kind = refusal.kind();
        let status = refusal.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let what = self.what_was_refused(kind, refusal, model);
        let said = if refusal.message.is_empty() { String::new() } else { format!(": {}", refusal.message) };
        let field = refusal.param.as_ref().map(|field| format!(" [field `{field}`]")).unwrap_or_default();
        let mut error = ProviderError::new(kind, self.scrub(&format!("{what}{status}{said}{field}")));
        if let Some(status) = refusal.status {
            error = error.with_status(status);
        }
        if let Some(field) = &refusal.param {
            error = error.with_field(field.clone());
        }
        if let Some(wait) = wait.or(refusal.retry_after) {
            error = error.with_retry_after(wait);
        }
        // What only the user can change is not asked for again, whatever a service says.
        let mends = matches!(kind, Kind::Authentication | Kind::Permission);
        if let Some(should_retry) = refusal.should_retry.filter(|should| !should || !mends) {
            error = error.with_retryable(should_retry);
        }
        if let Some(id) = &refusal.request_id {
            error = error.with_request_id(id.clone());
        }
        match self.hint(kind, refusal, model, wait) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    fn what_was_refused(&self, kind: Kind, refusal: &ApiError, model: &str) -> String {
        let Self { service, url, .. } = self;
        match kind {
            Kind::Authentication => format!("{service} did not accept the key"),
            Kind::Permission if refusal.is_about_credit() => {
                format!("{service} has no credit left for this key")
            }
            Kind::Permission => format!("{service} does not permit this with the key in use"),
            Kind::NotFound if refusal.is_about_loading() => {
                format!("{service} has not loaded the model `{model}`")
            }
            Kind::NotFound if refusal.is_about_model(model) => {
                format!("{service} does not know the model `{model}`")
            }
            Kind::NotFound => format!("there is no such API at {url}"),
            Kind::RateLimit => format!("{service} limits how much may be asked for now"),
            Kind::Overloaded => format!("{service} is overloaded"),
            Kind::ContextLength => format!("the request is too long for the model `{model}` at {service}"),
            Kind::InvalidRequest => format!("{service} refused the request as invalid"),
            Kind::ContentFilter => format!("the content filter of {service} refused the request"),
            Kind::Timeout => format!("{service} gave up on the request"),
            Kind::Protocol => format!("{service} answered in a way this API does not know, at {url}"),
            _ => format!("{service} failed"),
        }
    }

    fn hint(&self, kind: Kind, refusal: &ApiError, model: &str, wait: Option<Duration>) -> Option<String> {
        match kind {
            Kind::RateLimit | Kind::Overloaded if wait.is_some_and(|wait| !wait.is_zero()) => {
                wait.map(|wait| format!("the service takes requests again in {}", spoken(wait)))
            }
            Kind::Authentication if self.secrets.is_empty() => Some(format!("set {}", self.key_source)),
            Kind::Authentication => Some(format!("check {}", self.key_source)),
            Kind::Permission if refusal.is_about_credit() => {
                Some("check billing and plan of the account".into())
            }
            Kind::NotFound if refusal.says("try pulling it") => {
                Some(format!("get it with `ollama pull {model}`"))
            }
            Kind::NotFound if refusal.is_about_loading() => {
                Some(format!("load it in the server, in LM Studio with `lms load {model}`"))
            }
            Kind::NotFound if refusal.is_about_model(model) => {
                Some("check the name of the model, and whether the key may use it".into())
            }
            Kind::NotFound | Kind::Protocol => Some(self.base_url_hint()),
            Kind::ContextLength => Some("compact the conversation or begin a new one".into()),
            _ if refusal.says("enable-auto-tool-choice") => {
                Some("start the server with --enable-auto-tool-choice and --tool-call-parser".into())
            }
            _ => None,
        }
    }

    /// Advice when the address looks wrong.
    fn base_url_hint(&self) -> String {
        format!("the base URL looks wrong: check {}", self.base_url_source)
    }

    /// A redirect, which is never followed: it would carry the key to another address.
    pub(crate) fn redirected(&self, status: u16, target: &str) -> ProviderError {
        let message = format!("{} redirects to {target}", self.url);
        ProviderError::new(Kind::Protocol, self.scrub(&message))
            .with_status(status)
            .with_hint(self.base_url_hint())
    }

    /// The answer is no event stream.
    pub(crate) fn not_a_stream(&self, status: u16, content_type: &str, beginning: &str) -> ProviderError {
        let content = if content_type.is_empty() { "no content type" } else { content_type };
        let message = format!("{} answered with {content} instead of an event stream: {beginning}", self.url);
        ProviderError::new(Kind::Protocol, self.scrub(&message))
            .with_status(status)
            .with_hint(self.base_url_hint())
    }

    /// The answer to a question is none.
    pub(crate) fn no_answer(&self, status: u16, content_type: &str, beginning: &str) -> ProviderError {
        let content = if content_type.is_empty() { "no content type" } else { content_type };
        let message = format!(
            "{} answered with {content}, which is not what this API promises: {beginning}",
            self.service
        );
        ProviderError::new(Kind::Protocol, self.scrub(&message))
            .with_status(status)
            .with_hint(self.base_url_hint())
    }

    /// No connection, or one that broke before the answer.
    pub(crate) fn unreachable(&self, error: reqwest::Error) -> ProviderError {
        let error = error.without_url();
        let cause = self.scrub(&root_cause(&error));
        let host = &self.host;
        let (kind, message) = if error.is_builder() {
            (Kind::Configuration, format!("the request to {} cannot be made: {cause}", self.url))
        } else if error.is_dns() {
            (Kind::Network, format!("the name in {host} cannot be resolved: {cause}"))
        } else if error.is_connect() && error.is_timeout() {
            (Kind::Network, format!("{host} did not accept a connection in time"))
        } else if error.is_connect() {
            (Kind::Network, format!("cannot connect to {host}: {cause}"))
        } else {
            (Kind::Network, format!("the connection to {host} broke: {cause}"))
        };
        let connects = error.is_connect();
        let error = ProviderError::new(kind, message).with_source(error);
        if connects {
            return error.with_hint(format!(
                "check the network, and {} if the address is not meant",
                self.base_url_source
            ));
        }
        error
    }

    /// Not one byte for `idle`.
    pub(crate) fn idle(&self, idle: Duration) -> ProviderError {
        ProviderError::new(Kind::Timeout, format!("{} sent nothing for {idle:?}", self.service))
    }

    /// The body ended too early.
    pub(crate) fn cut(&self, frames: u64) -> ProviderError {
        let message = format!(
            "{} ended the stream after {frames} events, before the answer was complete",
            self.service
        );
        ProviderError::new(Kind::Network, message)
    }

    /// The stream is not what the API promises.
    pub(crate) fn malformed(
        &self,
        problem: &str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> ProviderError {
        let message = format!("{} sent {problem}", self.service);
        ProviderError::new(Kind::Protocol, self.scrub(&message)).with_source(source)
    }

    /// The turn was aborted.
    pub(crate) fn cancelled(&self) -> ProviderError {
        ProviderError::new(Kind::Cancelled, format!("the call to {} was cancelled", self.service))
    }

    /// `text` without any key: some servers repeat it in their answer.
    fn scrub(&self, text: &str) -> String {
        let keys = self.secrets.iter().map(|key| key.expose_secret().trim()).filter(|key| key.len() >= 8);
        keys.fold(text.to_owned(), |text, key| text.replace(key, "[key]"))
    }
}

/// A time as people say it, at least a second.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The innermost cause, which says more than the layers around it.
fn root_cause(error: &dyn StdError) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
