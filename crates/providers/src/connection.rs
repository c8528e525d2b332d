//! What all HTTP providers are told about reaching their service.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use robota_core::{ProviderCategory, ProviderDefinition, ProviderError, ProviderErrorKind};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// How a service is reached. Plain values: nothing is read from the environment.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ConnectionOptions {
    /// Address of the API, with or without a slash at its end; `None` for the vendor's own.
    pub base_url: Option<String>,
    /// Where a person can correct that address, for hints; `None` for the vendor's variable.
    pub base_url_source: Option<String>,
    /// Where a person can correct the key, for hints; `None` for the vendor's variable.
    pub key_source: Option<String>,
    /// How long the server may send nothing at all; 120 s. Restarts with every byte.
    pub idle_timeout: Duration,
    /// How long connecting may take, TLS included; 15 s.
    pub connect_timeout: Duration,
    /// Whether an `http` address is spoken to in HTTP/2 from the first byte, for gateways of one's own that take
    /// nothing else; false. With `https` the version is agreed on in any case.
    pub http2_prior_knowledge: bool,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            base_url: None,
            base_url_source: None,
            key_source: None,
            idle_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(15),
            http2_prior_knowledge: false,
        }
    }
}

/// The base URL to use, checked.
///
/// # Errors
///
/// `Configuration`, when it is no address, or there is none.
pub(crate) fn base_url(
    vendor: &ProviderDefinition,
    connection: &ConnectionOptions,
) -> Result<Url, ProviderError> {
    let given = connection.base_url.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Some(text) = given.or(vendor.base_url) else {
        let message = format!("there is no address for {}", vendor.name);
        return Err(ProviderError::new(ProviderErrorKind::Configuration, message)
            .with_hint(format!("set {} or the base URL in the settings", vendor.base_url_variable)));
    };
    let usable = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if let Some(mut url) = Url::parse(text).ok().filter(usable) {
        url.set_fragment(None);
        return Ok(url);
    }
    // A text with an `@` may hold a password.
    let shown = if text.contains('@') { "the base URL" } else { text };
    let hint = match &connection.base_url_source {
        Some(source) => format!("correct {source}"),
        None => format!("correct {} or the base URL in the settings", vendor.base_url_variable),
    };
    let message = format!("{shown} is not an address that starts with http:// or https://");
    Err(ProviderError::new(ProviderErrorKind::Configuration, message).with_hint(hint))
}

/// True when `url` is the vendor's own address; that of a cloud always wants a key.
pub(crate) fn owns(vendor: &ProviderDefinition, url: &Url) -> bool {
    let own = vendor.base_url.and_then(|own| Url::parse(own).ok());
    own.is_some_and(|own| own.host_str() == url.host_str())
}

/// True when `url` wants a key in any case.
pub(crate) fn wants_key(vendor: &ProviderDefinition, url: &Url) -> bool {
    vendor.category != ProviderCategory::Local && (owns(vendor, url) || vendor.base_url.is_none())
}

/// Where users keep the key of `vendor`, for hints.
pub(crate) fn key_source(vendor: &ProviderDefinition) -> &'static str {
    vendor.key_variable().unwrap_or("the API key in the provider's settings")
}

/// The error of a vendor's endpoint without a key.
pub(crate) fn missing_key(vendor: &ProviderDefinition) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Configuration, format!("there is no key for {}", vendor.name))
        .with_hint(format!("set {} to your API key", key_source(vendor)))
}

/// How messages call the service behind `url`.
pub(crate) fn service(vendor: &ProviderDefinition, url: &Url) -> String {
    if owns(vendor, url) && vendor.category != ProviderCategory::Local {
        return vendor.name.to_owned();
    }
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("the server at {host}:{port}"),
        None => format!("the server at {host}"),
    }
}

/// Request headers in the making, keys among them.
pub(crate) struct Headers {
    map: HeaderMap,
    secrets: Vec<SecretString>,
}

impl Headers {
    /// What every API gets.
    pub(crate) fn new() -> Self {
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        Self { map, secrets: Vec::new() }
    }

    /// Adds a header that is no secret.
    pub(crate) fn plain(&mut self, name: &'static str, value: &'static str) {
        self.map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }

    /// Adds a bearer token in `authorization`. `source` says where it came from.
    pub(crate) fn bearer(&mut self, token: &SecretString, source: &str) -> Result<(), ProviderError> {
        self.secret("authorization", "Bearer ", token, source)
    }

    /// Adds a header with a key, `prefix` before it. `source` says where the key came from.
    pub(crate) fn secret(
        &mut self,
        name: &'static str,
        prefix: &str,
        key: &SecretString,
        source: &str,
    ) -> Result<(), ProviderError> {
        let value = header_value(&format!("{prefix}{}", key.expose_secret().trim())).ok_or_else(|| {
            let message = "the API key has characters that no key has, such as a line break";
            ProviderError::new(ProviderErrorKind::Configuration, message)
                .with_hint(format!("copy the key into {source} again"))
        })?;
        self.map.insert(HeaderName::from_static(name), value);
        self.secrets.push(key.clone());
        Ok(())
    }

    /// Adds the headers of the options. Those that carry a key by their name are kept out of messages.
    pub(crate) fn extra(&mut self, headers: &[(String, SecretString)]) -> Result<(), ProviderError> {
        for (name, value) in headers {
            let parsed = HeaderName::try_from(name.as_str()).ok().zip(header_value(value.expose_secret()));
            let (header, parsed) = parsed.ok_or_else(|| {
                let message =
                    format!("the request header `{name}` has a name or value that HTTP does not allow");
                ProviderError::new(ProviderErrorKind::Configuration, message)
            })?;
            if ["auth", "key", "token", "secret", "cookie"].iter().any(|mark| header.as_str().contains(mark))
            {
                self.secrets.push(value.clone());
            }
            self.map.insert(header, parsed);
        }
        Ok(())
    }

    /// The headers, and the values that must not be shown.
    pub(crate) fn finish(self) -> (HeaderMap, Vec<SecretString>) {
        (self.map, self.secrets)
    }
}

fn header_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Checks that `extra_body` leaves alone the fields that the provider writes.
pub(crate) fn check_extra_body(extra: &Map<String, Value>, own: &[&str]) -> Result<(), ProviderError> {
    match own.iter().find(|field| extra.contains_key(**field)) {
        None => Ok(()),
        Some(field) => Err(ProviderError::new(
            ProviderErrorKind::Configuration,
            format!("the extra request field `{field}` is one that robota writes itself"),
        )
        .with_hint("remove it from the provider's extra body fields")),
    }
}

/// A key that is there and not blank.
pub(crate) fn present(key: Option<&SecretString>) -> Option<&SecretString> {
    key.filter(|key| !key.expose_secret().trim().is_empty())
}
