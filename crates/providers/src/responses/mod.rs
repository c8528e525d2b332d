//! OpenAI Responses, and the servers that speak it more or less (protocols F2).
//!
//! Nothing is stored at the service: every request carries the whole conversation, and reasoning goes back as the
//! encrypted items it came in. Answers that say more than text and calls are kept in their own words
//! ([`Part::Native`](robota_core::Part::Native)) and sent again like that.

mod decode;
mod dialect;
mod encode;
mod items;
mod native;
mod reasoning;
mod schema;
mod web_tools;

use robota_core::{
    Capabilities, Effort, ModelRequest, NativeWebTools, NativeWebToolsReport, ProviderError, ProviderInfo,
    Thinking,
};
use serde_json::{Map, Value};

use dialect::Spoken;

use crate::api_error::ApiError;
use crate::connection::{ConnectionOptions, Headers, base_url, check_extra_body};
use crate::endpoint::Endpoint;
use crate::learned::Learned;
use crate::listed_model::ModelPage;
use crate::openai_api::{Addresses, read_models, sign};
use crate::options::ApiSurface;
use crate::wire::{Decoder, Dialect, Encoded, Question, Wire};
use crate::{HttpProvider, ProviderKind, ProviderSpec};

/// A provider for the Responses API. A base URL without a path gets `/v1`.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec { kind, api_key, auth_token, default_max_output_tokens, connection, options, .. } = spec;
    let vendor = kind.definition();
    check_extra_body(&options.body, &encode::OWN_FIELDS)?;
    let connection = match &options.responses_base_url {
        Some(own) => ConnectionOptions {
            base_url: Some(own.clone()),
            base_url_source: Some("`responsesBaseURL` in the provider's options".to_owned()),
            ..connection
        },
        None => connection,
    };
    let base = base_url(vendor, &connection)?;

    let mut headers = Headers::new();
    sign(&mut headers, kind, &base, (api_key.as_ref(), auth_token.as_ref()))?;

    let addresses = Addresses::new(ApiSurface::Responses, kind, base, options.api_version.as_deref());
    let info = ProviderInfo::new(vendor.kind, capabilities(kind));
    let endpoint = Endpoint::new(info, vendor, addresses.calls(), headers, &connection, &options)?;
    let settings = Settings {
        kind,
        default_max_output_tokens,
        web_tools: options.built_in_web_tools,
        thinking: options.thinking,
        effort: options.effort,
        extra_body: options.body,
    };
    let wire = Responses { settings, addresses, learned: Learned::default() };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

/// Documents are read by OpenAI's own models; Qwen's Responses do not take the form of an answer.
fn capabilities(kind: ProviderKind) -> Capabilities {
    Capabilities {
        tools: true,
        images: true,
        documents: is_openai(kind),
        thinking: true,
        structured_output: kind != ProviderKind::Qwen,
    }
}

/// Whether OpenAI's own models answer.
fn is_openai(kind: ProviderKind) -> bool {
    matches!(kind, ProviderKind::OpenAi | ProviderKind::Azure)
}

/// What holds for all requests of a provider.
struct Settings {
    kind: ProviderKind,
    default_max_output_tokens: Option<u32>,
    /// Web tools that may be used.
    web_tools: NativeWebTools,
    /// For requests that do not say.
    thinking: Thinking,
    /// For requests that do not say.
    effort: Option<Effort>,
    extra_body: Map<String, Value>,
}

struct Responses {
    settings: Settings,
    addresses: Addresses,
    /// What the server has turned out not to understand.
    learned: Learned,
}

impl Wire for Responses {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let (bits, dialect) = self.learned.about(&request.model);
        let body = encode::body(request, &self.settings, Spoken::of(bits));
        Encoded { body, dialect, ..Encoded::default() }
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::new(native::format(self.settings.kind)))
    }

    fn native_web_tools(&self, _: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        web_tools::report(&self.settings, wanted)
    }

    fn list_models(&self, _: Option<&str>) -> Option<Question<ModelPage>> {
        Some(Question { url: self.addresses.models(), body: None, read: read_models })
    }

    /// OpenAI counts, others do not.
    fn count_tokens(&self, request: &ModelRequest) -> Option<Question<u64>> {
        if self.settings.kind != ProviderKind::OpenAi {
            return None;
        }
        let mut url = self.addresses.calls();
        url.set_path(&format!("{}/input_tokens", url.path()));
        let spoken = Spoken::of(self.learned.about(&request.model).0);
        let body = Some(encode::counted(request, &self.settings, spoken));
        Some(Question { url, body, read: |answer| answer.get("input_tokens")?.as_u64() })
    }

    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let spoken = Spoken::of(Learned::bits(dialect));
        let corrected = match spoken.corrected(refusal) {
            same if same == spoken && !is_openai(self.settings.kind) => spoken.plainer(refusal),
            corrected => corrected,
        };
        self.learned.add(dialect, corrected.bits())
    }
}
