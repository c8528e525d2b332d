//! OpenAI Chat Completions, and the many servers that speak it more or less (protocols F2 and F4).
//!
//! There is one implementation. What sets a server apart is data: [`quirks::Quirks`] holds what is usual of its kind,
//! and [`dialect::Departures`] what it has turned out to refuse. Whatever servers send is read by one decoder, which
//! knows all their ways at once.

mod call_id;
mod calls;
mod decode;
mod dialect;
mod encode;
mod gemma;
mod list;
mod markup;
mod messages;
mod nesting;
mod quirks;
mod reasoning;
mod tuning;
mod usage;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use robota_core::{
    Capabilities, ModelRequest, NativeWebTool, NativeWebTools, NativeWebToolsReport, ProviderCategory,
    ProviderError, ProviderInfo,
};

use decode::{ChatDecoder, Reading};
use dialect::Learned;
use encode::Setup;
use quirks::{AnswerForm, CacheKey, Echo, Quirks, UNKNOWN};

use crate::api_error::ApiError;
use crate::connection::{Headers, base_url, check_extra_body, owns};
use crate::endpoint::Endpoint;
use crate::kind::ProviderKind;
use crate::listed_model::ModelPage;
use crate::openai_api::{Addresses, read_models, sign};
use crate::options::{ApiSurface, ProviderOptions};
use crate::wire::{Decoder, Dialect, Encoded, Question, Wire};
use crate::{HttpProvider, ProviderSpec};

/// A provider for the Chat Completions API. A base URL without a path gets that of the vendor, or else `/v1`.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec { kind, api_key, auth_token, default_max_output_tokens, connection, options, .. } = spec;
    let vendor = kind.definition();
    let base = base_url(vendor, &connection)?;
    check_extra_body(&options.body, &encode::OWN_FIELDS)?;

    let mut headers = Headers::new();
    sign(&mut headers, kind, &base, (api_key.as_ref(), auth_token.as_ref()))?;

    let quirks = quirks_at(kind, &base);
    let own = owns(vendor, &base) && vendor.category == ProviderCategory::Cloud;
    let markup = options.inline_markup.unwrap_or(quirks.markup || !own);
    let capabilities = Capabilities {
        tools: true,
        // By the name of the model.
        images: true,
        documents: quirks.documents,
        thinking: true,
        structured_output: quirks.answer_form == AnswerForm::Schema,
    };
    let info = ProviderInfo::new(vendor.kind, capabilities);
    let addresses = Addresses::new(ApiSurface::Chat, kind, base, options.api_version.as_deref());
    let endpoint = Endpoint::new(info, vendor, addresses.calls(), headers, &connection, &options)?;
    let wire = Chat {
        id: vendor.kind,
        kind,
        quirks,
        addresses,
        default_max_output_tokens,
        markup,
        options,
        learned: Learned::default(),
    };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

/// The quirks of `kind` at this address. Behind `openai`, the address says who it is.
fn quirks_at(kind: ProviderKind, base: &Url) -> &'static Quirks {
    if kind != ProviderKind::OpenAi {
        return Quirks::of(kind);
    }
    let cloud = |kind: &ProviderKind| kind.definition().category != ProviderCategory::Local;
    let known = ProviderKind::ALL.into_iter().filter(cloud).find(|kind| owns(kind.definition(), base));
    known.map_or(&UNKNOWN, Quirks::of)
}

struct Chat {
    /// Id of the provider.
    id: &'static str,
    kind: ProviderKind,
    quirks: &'static Quirks,
    addresses: Addresses,
    default_max_output_tokens: Option<u32>,
    /// Thinking and calls written as text are read as such.
    markup: bool,
    options: ProviderOptions,
    /// What the server has turned out to refuse.
    learned: Learned,
}

impl Wire for Chat {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let (departures, dialect) = self.learned.about(&request.model);
        let setup = Setup {
            quirks: self.quirks,
            departures,
            provider: self.id,
            max_tokens: self.default_max_output_tokens,
            thinking: self.options.thinking,
            effort: self.options.effort,
            cache_ttl: self.options.cache_ttl,
            extra: &self.options.body,
        };
        Encoded {
            body: setup.body(request),
            dialect,
            url: self.addresses.calls_of(&request.model),
            headers: self.headers(request),
        }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        let details = (self.quirks.echo == Echo::Details).then_some(self.id);
        Box::new(ChatDecoder::new(self.reading(request), details))
    }

    fn native_web_tools(&self, _: &str, _: NativeWebTools) -> NativeWebToolsReport {
        let none = NativeWebTool { reason: Some(self.quirks.web.to_owned()), ..NativeWebTool::default() };
        NativeWebToolsReport { web_search: none.clone(), web_fetch: none }
    }

    fn list_models(&self, _: Option<&str>) -> Option<Question<ModelPage>> {
        Some(Question { url: self.addresses.models(), body: None, read: read_models })
    }

    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        self.learned.learn(refusal, dialect)
    }
}

impl Chat {
    /// How the text of the answer is to be read.
    fn reading(&self, request: &ModelRequest) -> Reading {
        if !self.markup {
            return Reading::Plain;
        }
        let gemma = self.kind == ProviderKind::Gemma || request.model.to_ascii_lowercase().contains("gemma");
        if gemma { Reading::gemma(&request.tools) } else { Reading::markup(&request.tools) }
    }

    /// Headers of `request` alone.
    fn headers(&self, request: &ModelRequest) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let (CacheKey::Header(name), Some(key)) = (self.quirks.cache_key, &request.cache_key)
            && let Ok(value) = HeaderValue::try_from(&**key)
        {
            headers.insert(HeaderName::from_static(name), value);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_openai_the_address_says_who_it_is() {
        let at = |kind, url: &str| quirks_at(kind, &url.parse().unwrap()).formats[0];
        assert_eq!(at(ProviderKind::OpenAi, "https://api.openai.com/v1"), "openai-chat/openai");
        assert_eq!(at(ProviderKind::OpenAi, "https://api.mistral.ai/v1"), "openai-chat/mistral");
        assert_eq!(at(ProviderKind::OpenAi, "http://localhost:11434/v1"), "openai-chat/unknown");
        assert_eq!(at(ProviderKind::DeepSeek, "https://proxy.example"), "openai-chat/deepseek");
    }
}
