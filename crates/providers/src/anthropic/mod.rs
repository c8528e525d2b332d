//! Anthropic Messages (protocols F1).

mod abilities;
mod betas;
mod blocks;
mod breakpoints;
mod decode;
mod documents;
mod encode;
mod encoded;
mod native;
mod questions;
mod schema;
mod spoken;
mod tuning;
mod web_tools;

use reqwest::Url;
use robota_core::{
    Capabilities, ModelRequest, NativeWebTools, NativeWebToolsReport, ProviderError, ProviderInfo,
};
use secrecy::ExposeSecret;

use betas::Betas;
use encode::Purpose;
use spoken::Spoken;
use tuning::Tuned;

use crate::api_error::ApiError;
use crate::connection::{Headers, base_url, check_extra_body, key_source, missing_key, present, wants_key};
use crate::endpoint::Endpoint;
use crate::learned::Learned;
use crate::listed_model::ModelPage;
use crate::wire::{Decoder, Dialect, Encoded, Question, Wire};
use crate::{HttpProvider, ProviderOptions, ProviderSpec};

/// The version of the API that this module speaks.
const API_VERSION: &str = "2023-06-01";

/// Name of the API: of the encoded form kept with each message, and of answers in its own words.
const FORMAT: &str = "anthropic-messages";

/// A provider for the Messages API. The base URL may end in `/v1` or not.
pub(crate) fn provider(spec: ProviderSpec) -> Result<HttpProvider, ProviderError> {
    let ProviderSpec {
        kind, api_key, auth_token, default_max_output_tokens, connection, mut options, ..
    } = spec;
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

    let betas = take_betas(&mut options)?;
    let capabilities =
        Capabilities { tools: true, images: true, documents: true, thinking: true, structured_output: true };
    let info = ProviderInfo::new(vendor.kind, capabilities);
    let url = messages_url(base);
    let endpoint = Endpoint::new(info, vendor, url.clone(), headers, &connection, &options)?;
    let wire = Messages { url, default_max_output_tokens, options, betas, learned: Learned::default() };
    Ok(HttpProvider::new(endpoint, Box::new(wire)))
}

/// The betas of the options, those among their headers included: they become one header of each request.
fn take_betas(options: &mut ProviderOptions) -> Result<Betas, ProviderError> {
    let mut betas = std::mem::take(&mut options.betas);
    options.headers.retain(|(name, value)| {
        let is_beta = name.eq_ignore_ascii_case(betas::HEADER);
        if is_beta {
            betas.push(value.expose_secret().to_owned());
        }
        !is_beta
    });
    Betas::new(betas)
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
    /// Where requests are posted.
    url: Url,
    default_max_output_tokens: Option<u32>,
    options: ProviderOptions,
    betas: Betas,
    /// What the server has turned out not to understand.
    learned: Learned,
}

impl Messages {
    /// How requests for `model` are written.
    fn spoken(&self, model: &str) -> (Spoken, Dialect) {
        let (bits, dialect) = self.learned.about(model);
        (Spoken::of(bits), dialect)
    }

    fn fields(&self, request: &ModelRequest, spoken: Spoken) -> encode::Fields<'_> {
        encode::Fields {
            tuned: Tuned::of(request, &self.options, self.default_max_output_tokens, spoken),
            web_tools: web_tools::of(request, self.options.built_in_web_tools, spoken),
            extra: &self.options.body,
            mark: breakpoints::mark(self.options.cache_ttl),
        }
    }
}

impl Wire for Messages {
    fn encode(&self, request: &ModelRequest) -> Encoded {
        let (spoken, dialect) = self.spoken(&request.model);
        let fields = self.fields(request, spoken);
        Encoded {
            body: encode::body(request, &fields, Purpose::Answer),
            dialect,
            headers: self.betas.headers(spoken, fields.web_tools.web_fetch),
            url: None,
        }
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::<decode::MessagesDecoder>::default()
    }

    fn native_web_tools(&self, model: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        web_tools::report(model, wanted, self.options.built_in_web_tools)
    }

    fn list_models(&self, page: Option<&str>) -> Option<Question<ModelPage>> {
        Some(questions::models(&self.url, page))
    }

    fn count_tokens(&self, request: &ModelRequest) -> Option<Question<u64>> {
        let mut fields = self.fields(request, self.spoken(&request.model).0);
        // Questions carry no betas.
        fields.web_tools.web_fetch = false;
        Some(questions::count(&self.url, request, &fields))
    }

    fn adapt(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let corrected = Spoken::of(Learned::bits(dialect)).corrected(refusal, &self.betas);
        self.learned.add(dialect, corrected.bits())
    }
}
