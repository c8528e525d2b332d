//! Anthropic Messages (protocols F1).

mod blocks;
mod decode;
mod encode;

use reqwest::Url;
use robota_core::{Capabilities, ModelRequest, ProviderError, ProviderInfo};
use serde_json::{Map, Value};

use crate::connection::{Headers, base_url, check_extra_body, key_source, missing_key, present, wants_key};
use crate::endpoint::Endpoint;
use crate::wire::{Decoder, Encoded, Wire};
use crate::{HttpProvider, ProviderSpec};

/// The version of the API that this module speaks.
const API_VERSION: &str = "2023-06-01";

/// Most output tokens of a request that does not say; the API needs a number.
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 16_384;

/// A provider for the Messages API. The base URL may end in `/v1` or not.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec { kind, api_key, auth_token, default_max_output_tokens, connection, options, .. } = spec;
    let vendor = kind.definition();
    let base = base_url(vendor, &connection)?;
    check_extra_body(&options.body, &encode::OWN_FIELDS)?;

    let mut headers = Headers::new();
    headers.plain("anthropic-version", API_VERSION);
    let (api_key, auth_token) = (present(api_key.as_ref()), present(auth_token.as_ref()));
    if api_key.is_none() && auth_token.is_none() && wants_key(vendor, &base) {
        return Err(missing_key(vendor));
    }
    if let Some(key) = api_key {
        headers.secret("x-api-key", "", key, key_source(vendor))?;
    }
    if let Some(token) = auth_token {
        headers.bearer(token, vendor.token_variable.unwrap_or_else(|| key_source(vendor)))?;
    }

    let capabilities = Capabilities { tools: true, images: true, thinking: true, ..Capabilities::default() };
    let info = ProviderInfo::new(vendor.kind, capabilities);
    let endpoint = Endpoint::new(info, vendor, messages_url(base), headers, &connection, &options)?;
    let default_max_output_tokens = default_max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
    let wire = Messages { default_max_output_tokens, extra_body: options.body };
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
        Encoded { body, ..Encoded::default() }
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::<decode::MessagesDecoder>::default()
    }
}
