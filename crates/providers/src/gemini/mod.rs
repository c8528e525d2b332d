//! Google Gemini (protocols F3).
//!
//! What a model of the family understands depends on its generation ([`generation`]); what a server has
//! turned out not to understand is left out from then on ([`spoken`]).

mod address;
mod body;
mod catalogue;
mod contents;
mod decode;
mod generation;
mod native_parts;
mod parts;
mod reference;
mod schema;
mod spoken;
mod thinking;
mod web;

use robota_core::{
    Capabilities, ModelRequest, NativeWebTools, NativeWebToolsReport, ProviderError, ProviderInfo,
};

use self::address::Address;
use self::body::Settings;
use self::generation::Generation;
use self::spoken::Learned;
use crate::api_error::ApiError;
use crate::connection::{Headers, base_url, check_extra_body, key_source, missing_key, present, wants_key};
use crate::endpoint::Endpoint;
use crate::listed_model::ModelPage;
use crate::wire::{Decoder, Dialect, Encoded, Question, Wire};
use crate::{HttpProvider, ProviderSpec};

/// A provider for the Gemini API. The base URL may end in its version, such as `/v1beta`, or not.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec { kind, api_key, auth_token, default_max_output_tokens, connection, options, .. } = spec;
    let vendor = kind.definition();
    let base = base_url(vendor, &connection)?;
    check_extra_body(&options.body, &body::OWN_FIELDS)?;

    let mut headers = Headers::new();
    let (api_key, auth_token) = (present(api_key.as_ref()), present(auth_token.as_ref()));
    match (api_key, auth_token) {
        (Some(key), _) => headers.secret("x-goog-api-key", "", key, key_source(vendor))?,
        (None, Some(token)) => headers.bearer(token, key_source(vendor))?,
        (None, None) if wants_key(vendor, &base) => return Err(missing_key(vendor)),
        (None, None) => {}
    }

    let capabilities =
        Capabilities { tools: true, images: true, documents: true, thinking: true, structured_output: true };
    let info = ProviderInfo::new(vendor.kind, capabilities);
    let address = Address::new(base);
    let endpoint = Endpoint::new(info, vendor, address.models(), headers, &connection, &options)?;
    let settings = Settings { default_max_output_tokens, options };
    let wire = Gemini { address, settings, learned: Learned::default() };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

struct Gemini {
    address: Address,
    settings: Settings,
    /// What the server has turned out not to understand.
    learned: Learned,
}

impl Wire for Gemini {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let generation = Generation::of(&request.model);
        let (spoken, dialect) = self.learned.of(&request.model, generation);
        Encoded {
            body: body::body(request, generation, spoken, &self.settings),
            dialect,
            url: Some(self.address.stream(&request.model)),
            ..Encoded::default()
        }
    }

    fn decoder(&self, _: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(decode::GeminiDecoder::default())
    }

    fn native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        let generation = Generation::of(model);
        let (spoken, _) = self.learned.of(model, generation);
        web::report(generation, spoken, wanted, self.settings.options.built_in_web_tools)
    }

    fn list_models(&self, page: Option<&str>) -> Option<Question<ModelPage>> {
        Some(Question { url: self.address.list(page), body: None, read: catalogue::page })
    }

    fn count_tokens(&self, request: &ModelRequest) -> Option<Question<u64>> {
        let body = catalogue::count(&request.model, &self.encode(request).body);
        Some(Question { url: self.address.count(&request.model), body: Some(body), read: catalogue::total })
    }

    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        self.learned.learn(refusal, dialect)
    }
}
