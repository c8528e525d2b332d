//! OpenAI Chat Completions, and the many servers that speak it more or less (protocols F2 and F4).

mod calls;
mod decode;
mod dialect;
mod encode;
mod markup;
mod messages;

use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::Url;
use robota_core::{Capabilities, ModelRequest, ProviderError, ProviderInfo};
use secrecy::SecretString;
use serde_json::{Map, Value};

pub use dialect::MaxTokensField;
use dialect::Spoken;

use crate::HttpProvider;
use crate::api_error::ApiError;
use crate::connection::{ConnectionOptions, Headers, Vendor, check_extra_body, present};
use crate::endpoint::Endpoint;
use crate::wire::{Decoder, Dialect, Encoded, Wire};

/// The vendor's own endpoint.
pub(crate) const VENDOR: Vendor = Vendor {
    name: "OpenAI",
    base_url: "https://api.openai.com/v1",
    key_variable: "OPENAI_API_KEY",
    base_url_variable: "OPENAI_BASE_URL",
};

/// How to reach an OpenAI Chat Completions API.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct OpenAiOptions {
    /// Key for the `authorization: Bearer` header. A server of one's own may need none.
    pub api_key: Option<SecretString>,
    /// Most output tokens of a request that does not say; `None` leaves it to the server.
    pub default_max_output_tokens: Option<u32>,
    /// Name of the field for that number. Corrected by itself when the server refuses it.
    pub max_tokens_field: MaxTokensField,
    /// Whether `<think>` at the beginning of an answer and `<tool_call>` in it are read as what they
    /// mean, as open models write them when their server does not; `None`: only at addresses other
    /// than the vendor's.
    pub inline_markup: Option<bool>,
    /// Address, timeouts and extras. A base URL without a path gets `/v1`.
    pub connection: ConnectionOptions,
}

/// A provider for the Chat Completions API.
pub(crate) fn provider(options: OpenAiOptions) -> Result<HttpProvider, ProviderError> {
    let OpenAiOptions { api_key, default_max_output_tokens, max_tokens_field, inline_markup, connection } =
        options;
    let base = VENDOR.base_url(&connection)?;
    check_extra_body(&connection.extra_body, &encode::OWN_FIELDS)?;

    let mut headers = Headers::new();
    match present(api_key.as_ref()) {
        Some(key) => headers.secret("authorization", "Bearer ", key, VENDOR.key_variable)?,
        None if VENDOR.owns(&base) => return Err(VENDOR.missing_key()),
        None => {}
    }

    let inline_markup = inline_markup.unwrap_or(!VENDOR.owns(&base));
    let capabilities = Capabilities { tools: true, images: true, thinking: true };
    let info = ProviderInfo::new("openai", capabilities);
    let endpoint = Endpoint::new(info, &VENDOR, completions_url(base), headers, &connection)?;
    let wire = Chat {
        default_max_output_tokens,
        inline_markup,
        extra_body: connection.extra_body,
        dialect: AtomicU8::new(Spoken { stream_options: true, max_tokens_field }.dialect().0),
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
        Encoded { body: encode::body(request, max_tokens, Spoken::of(dialect), &self.extra_body), dialect }
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
