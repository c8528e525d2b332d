//! Anthropic Messages (protocols F1).

mod blocks;
mod decode;
mod encode;

use reqwest::Url;
use robota_core::{Capabilities, ModelRequest, ProviderError, ProviderInfo};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::HttpProvider;
use crate::connection::{ConnectionOptions, Headers, Vendor, check_extra_body, present};
use crate::endpoint::Endpoint;
use crate::wire::{Decoder, Dialect, Encoded, Wire};

/// The version of the API that this module speaks.
const API_VERSION: &str = "2023-06-01";

/// The vendor's own endpoint.
pub(crate) const VENDOR: Vendor = Vendor {
    name: "Anthropic",
    base_url: "https://api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    base_url_variable: "ANTHROPIC_BASE_URL",
};

/// The variable for a bearer token in place of a key.
pub(crate) const TOKEN_VARIABLE: &str = "ANTHROPIC_AUTH_TOKEN";

/// How to reach an Anthropic Messages API.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct AnthropicOptions {
    /// Key for the `x-api-key` header.
    pub api_key: Option<SecretString>,
    /// Token for an `authorization: Bearer` header, as gateways want it.
    pub auth_token: Option<SecretString>,
    /// Most output tokens of a request that does not say; the API needs a number. 16,384.
    pub default_max_output_tokens: u32,
    /// Address, timeouts and extras. The base URL may end in `/v1` or not.
    pub connection: ConnectionOptions,
}

impl Default for AnthropicOptions {
    fn default() -> Self {
        Self {
            api_key: None,
            auth_token: None,
            default_max_output_tokens: 16_384,
            connection: ConnectionOptions::default(),
        }
    }
}

/// A provider for the Messages API.
pub(crate) fn provider(options: AnthropicOptions) -> Result<HttpProvider, ProviderError> {
    let AnthropicOptions { api_key, auth_token, default_max_output_tokens, connection } = options;
    let base = VENDOR.base_url(&connection)?;
    check_extra_body(&connection.extra_body, &encode::OWN_FIELDS)?;

    let mut headers = Headers::new();
    headers.plain("anthropic-version", API_VERSION);
    let (api_key, auth_token) = (present(api_key.as_ref()), present(auth_token.as_ref()));
    if api_key.is_none() && auth_token.is_none() && VENDOR.owns(&base) {
        return Err(VENDOR.missing_key());
    }
    if let Some(key) = api_key {
        headers.secret("x-api-key", "", key, VENDOR.key_variable)?;
    }
    if let Some(token) = auth_token {
        headers.secret("authorization", "Bearer ", token, TOKEN_VARIABLE)?;
    }

    let capabilities = Capabilities { tools: true, images: true, thinking: true };
    let info = ProviderInfo::new(blocks::PROVIDER_ID, capabilities);
    let endpoint = Endpoint::new(info, &VENDOR, messages_url(base), headers, &connection)?;
    let wire = Messages { default_max_output_tokens, extra_body: connection.extra_body };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

/// `{base}/v1/messages`, however much of it the base URL already has.
fn messages_url(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/messages").unwrap_or(path);
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let path = format!("{path}/v1/messages");
    base.set_path(&path);
    base
}

struct Messages {
    default_max_output_tokens: u32,
    extra_body: Map<String, Value>,
}

impl Wire for Messages {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let body = encode::body(request, self.default_max_output_tokens, &self.extra_body);
        Encoded { body, dialect: Dialect::default() }
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::<decode::MessagesDecoder>::default()
    }
}
