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

use reqwest::Url;
use robota_core::{
    Capabilities, Effort, ModelRequest, NativeWebTools, NativeWebToolsReport, ProviderError, ProviderInfo,
    Thinking,
};
use serde_json::{Map, Value};

use dialect::Spoken;

use crate::api_error::ApiError;
use crate::azure::{self, Resource, Surface};
use crate::connection::{
    ConnectionOptions, Headers, base_url, check_extra_body, key_source, missing_key, present, wants_key,
};
use crate::endpoint::Endpoint;
use crate::learned::Learned;
use crate::listed_model::ModelPage;
use crate::wire::{Decoder, Dialect, Encoded, Question, Wire};
use crate::{HttpProvider, ProviderKind, ProviderSpec, openai_models};

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
    let signed = match present(api_key.as_ref()).or(present(auth_token.as_ref())) {
        _ if kind == ProviderKind::Azure => azure::sign(&mut headers, api_key.as_ref(), auth_token.as_ref())?,
        Some(key) => {
            headers.bearer(key, key_source(vendor))?;
            true
        }
        None => false,
    };
    if !signed && wants_key(vendor, &base) {
        return Err(missing_key(vendor));
    }

    let url = match kind {
        ProviderKind::Azure => {
            Resource::new(base, options.api_version.as_deref()).url(Surface::Responses, "")
        }
        _ => responses_url(base),
    };
    let info = ProviderInfo::new(vendor.kind, capabilities(kind));
    let endpoint = Endpoint::new(info, vendor, url.clone(), headers, &connection, &options)?;
    let settings = Settings {
        kind,
        default_max_output_tokens,
        web_tools: options.built_in_web_tools,
        thinking: options.thinking,
        effort: options.effort,
        extra_body: options.body,
    };
    let wire = Responses { settings, url, learned: Learned::default() };
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

/// `{base}/responses`, with `/v1` before it when the base URL has no path at all.
fn responses_url(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/responses").unwrap_or(path);
    let path = if path.is_empty() { "/v1" } else { path };
    let path = format!("{path}/responses");
    base.set_path(&path);
    base
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
    url: Url,
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
        Some(openai_models::list_models(&self.url))
    }

    /// OpenAI counts, others do not.
    fn count_tokens(&self, request: &ModelRequest) -> Option<Question<u64>> {
        if self.settings.kind != ProviderKind::OpenAi {
            return None;
        }
        let mut url = self.url.clone();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed_as_far_as_it_needs() {
        let url = |base: &str| responses_url(Url::parse(base).unwrap()).to_string();
        assert_eq!(url("http://a.example"), "http://a.example/v1/responses");
        assert_eq!(url("http://a.example/api/v2/"), "http://a.example/api/v2/responses");
        assert_eq!(url("http://a.example/v1/responses?x=1"), "http://a.example/v1/responses?x=1");
    }
}
