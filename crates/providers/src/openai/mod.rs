//! OpenAI Chat Completions, and the many servers that speak it more or less (protocols F2 and F4).

mod calls;
mod decode;
mod dialect;
mod encode;
mod markup;
mod messages;

use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::Url;
use robota_core::{Capabilities, ModelRequest, ProviderCategory, ProviderError, ProviderInfo};
use serde_json::{Map, Value};

use dialect::{MaxTokensField, Spoken};

use crate::api_error::ApiError;
use crate::azure::{self, Resource, Surface};
use crate::connection::{
    Headers, base_url, check_extra_body, key_source, missing_key, owns, present, wants_key,
};
use crate::endpoint::Endpoint;
use crate::wire::{Decoder, Dialect, Encoded, Wire};
use crate::{HttpProvider, ProviderKind, ProviderSpec};

/// A provider for the Chat Completions API. A base URL without a path gets `/v1`.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec { kind, api_key, auth_token, default_max_output_tokens, connection, options, .. } = spec;
    let vendor = kind.definition();
    let base = base_url(vendor, &connection)?;
    check_extra_body(&options.body, &encode::OWN_FIELDS)?;

    let mut headers = Headers::new();
    match present(api_key.as_ref()).or(present(auth_token.as_ref())) {
        Some(_) if kind == ProviderKind::Azure => {
            azure::sign(&mut headers, api_key.as_ref(), auth_token.as_ref())?;
        }
        Some(key) => headers.bearer(key, key_source(vendor))?,
        None if wants_key(vendor, &base) => return Err(missing_key(vendor)),
        None => {}
    }

    let own = owns(vendor, &base) && vendor.category == ProviderCategory::Cloud;
    let inline_markup = options.inline_markup.unwrap_or(!own);
    let capabilities = Capabilities { tools: true, images: true, thinking: true, ..Capabilities::default() };
    let info = ProviderInfo::new(vendor.kind, capabilities);
    let resource =
        (kind == ProviderKind::Azure).then(|| Resource::new(base.clone(), options.api_version.as_deref()));
    let url =
        resource.as_ref().map_or_else(|| completions_url(base), |azure| azure.url(Surface::Chat, "model"));
    let endpoint = Endpoint::new(info, vendor, url, headers, &connection, &options)?;
    let spoken = Spoken { stream_options: true, max_tokens_field: MaxTokensField::default() };
    let wire = Chat {
        resource,
        default_max_output_tokens,
        inline_markup,
        extra_body: options.body,
        dialect: AtomicU8::new(spoken.dialect().0),
    };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

/// `{base}/chat/completions`, with `/v1` before it when the base URL has no path at all.
fn completions_url(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1" } else { path };
    let path = format!("{path}/chat/completions");
    base.set_path(&path);
    base
}

struct Chat {
    /// In Azure the address may depend on the model.
    resource: Option<Resource>,
    default_max_output_tokens: Option<u32>,
    inline_markup: bool,
    extra_body: Map<String, Value>,
    /// What the server has turned out to understand.
    dialect: AtomicU8,
}

impl Wire for Chat {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let dialect = Dialect(self.dialect.load(Ordering::Relaxed));
        let max_tokens = request.max_output_tokens.or(self.default_max_output_tokens);
        let body = encode::body(request, max_tokens, Spoken::of(dialect), &self.extra_body);
        let url = self.resource.as_ref().map(|azure| azure.url(Surface::Chat, &request.model));
        Encoded { body, dialect, url, ..Encoded::default() }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        let tools = || request.tools.iter().map(|tool| tool.name.clone()).collect();
        Box::new(decode::ChatDecoder::new(self.inline_markup.then(tools)))
    }

    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let corrected = Spoken::of(dialect).corrected(refusal).dialect();
        if corrected == dialect {
            return false;
        }
        self.dialect.store(corrected.0, Ordering::Relaxed);
        true
    }
}
