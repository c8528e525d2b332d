//! `options` of a provider profile: what only providers understand (seed `001`, Provider profile shape).

use robota_core::{Effort, NativeWebTools, Thinking};
use secrecy::SecretString;
use serde_json::{Map, Value};

/// What every request of a provider carries and how it is spoken to, beyond address and key.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ProviderOptions {
    /// `headers`: further request headers; a value may be a key. They win over those the API asks for.
    pub headers: Vec<(String, SecretString)>,
    /// `body`: further fields of the request's JSON, such as `service_tier`.
    pub body: Map<String, Value>,
    /// `builtInWebTools`: web tools of the provider's own that may be used.
    pub built_in_web_tools: NativeWebTools,
    /// `thinking`: what holds for requests that do not say: `adaptive` or `enabled`, `disabled`, or a number of tokens.
    pub thinking: Thinking,
    /// `effort` or `reasoningEffort`: what holds for requests that do not say.
    pub effort: Option<Effort>,
    /// `apiSurface`: `responses` or `chat`, for servers that have both; `None` for the usual one of the kind.
    pub api_surface: Option<ApiSurface>,
    /// `responsesBaseURL`: where Responses are, for providers that have them at another address.
    pub responses_base_url: Option<String>,
    /// `apiVersion`: the version in the query of Azure-style addresses.
    pub api_version: Option<String>,
    /// `betas`: features of Anthropic that have to be asked for by name.
    pub betas: Vec<String>,
    /// `cacheTtl`: how long Anthropic keeps a cached prefix: `5m` or `1h`; `None` for the usual 5 minutes.
    pub cache_ttl: Option<CacheTtl>,
    /// `inlineMarkup`: whether `<think>` at the beginning of an answer and calls written as text are read as what they
    /// mean; `None` for what is usual of the kind.
    pub inline_markup: Option<bool>,
}

/// Which of OpenAI's APIs is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiSurface {
    /// Responses.
    Responses,
    /// Chat Completions.
    Chat,
}

/// How long a cached prefix is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheTtl {
    /// Five minutes.
    FiveMinutes,
    /// An hour; costs twice as much to write.
    OneHour,
}

/// What is wrong with the options of a profile, in words that follow its name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct InvalidProviderOptions(String);

const KNOWN: &str = "headers, body, builtInWebTools, thinking, effort, apiSurface, responsesBaseURL, apiVersion, \
                     betas, cacheTtl and inlineMarkup";

impl ProviderOptions {
    /// Reads the `options` of a profile.
    ///
    /// # Errors
    ///
    /// When a key is not known, or a value is not what its key takes.
    pub fn parse(options: &Value) -> Result<Self, InvalidProviderOptions> {
        let Value::Object(options) = options else { return Err(invalid("`options` must be an object")) };
        let mut parsed = Self::default();
        for (key, value) in options {
            parsed.take(key, value)?;
        }
        Ok(parsed)
    }

    fn take(&mut self, key: &str, value: &Value) -> Result<(), InvalidProviderOptions> {
        match key {
            "headers" => self.headers = object(key, value)?.iter().map(header).collect::<Result<_, _>>()?,
            "body" => self.body.clone_from(object(key, value)?),
            "builtInWebTools" => self.built_in_web_tools = web_tools(key, value)?,
            "thinking" => self.thinking = thinking(key, value)?,
            "effort" | "reasoningEffort" => {
                let effort = text(key, value)?.parse();
                self.effort =
                    Some(effort.map_err(|error| invalid(format!("`{key}` in `options`: {error}")))?);
            }
            "apiSurface" => {
                let known = [("responses", ApiSurface::Responses), ("chat", ApiSurface::Chat)];
                self.api_surface = Some(one_of(key, value, &known)?);
            }
            "responsesBaseURL" => self.responses_base_url = Some(text(key, value)?.to_owned()),
            "apiVersion" => self.api_version = Some(text(key, value)?.to_owned()),
            "betas" => self.betas = betas(key, value)?,
            "cacheTtl" => {
                let known = [("5m", CacheTtl::FiveMinutes), ("1h", CacheTtl::OneHour)];
                self.cache_ttl = Some(one_of(key, value, &known)?);
            }
            "inlineMarkup" => self.inline_markup = Some(truth(key, value)?),
            _ => return Err(invalid(format!("`{key}` in `options` is not known; there are {KNOWN}"))),
        }
        Ok(())
    }
}

fn invalid(problem: impl Into<String>) -> InvalidProviderOptions {
    InvalidProviderOptions(problem.into())
}

fn must_be(key: &str, what: &str) -> InvalidProviderOptions {
    invalid(format!("`{key}` in `options` must be {what}"))
}

fn object<'a>(key: &str, value: &'a Value) -> Result<&'a Map<String, Value>, InvalidProviderOptions> {
    value.as_object().ok_or_else(|| must_be(key, "an object"))
}

fn text<'a>(key: &str, value: &'a Value) -> Result<&'a str, InvalidProviderOptions> {
    value.as_str().ok_or_else(|| must_be(key, "a string"))
}

fn truth(key: &str, value: &Value) -> Result<bool, InvalidProviderOptions> {
    value.as_bool().ok_or_else(|| must_be(key, "true or false"))
}

fn one_of<T: Copy>(key: &str, value: &Value, known: &[(&str, T)]) -> Result<T, InvalidProviderOptions> {
    let found = known.iter().find(|(name, _)| value.as_str() == Some(name));
    let names = || known.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ");
    found.map(|(_, meaning)| *meaning).ok_or_else(|| must_be(key, &names()))
}

fn header((name, value): (&String, &Value)) -> Result<(String, SecretString), InvalidProviderOptions> {
    let value = value
        .as_str()
        .ok_or_else(|| invalid(format!("the header `{name}` in `options` must be a string")))?;
    Ok((name.clone(), SecretString::from(value)))
}

fn web_tools(key: &str, value: &Value) -> Result<NativeWebTools, InvalidProviderOptions> {
    let mut tools = NativeWebTools::default();
    for (tool, value) in object(key, value)? {
        let place = format!("{key}.{tool}");
        match tool.as_str() {
            "webSearch" => tools.web_search = truth(&place, value)?,
            "webFetch" => tools.web_fetch = truth(&place, value)?,
            _ => {
                return Err(invalid(format!(
                    "`{place}` in `options` is not known; there are webSearch and webFetch"
                )));
            }
        }
    }
    Ok(tools)
}

fn thinking(key: &str, value: &Value) -> Result<Thinking, InvalidProviderOptions> {
    match value {
        Value::String(word) if word == "adaptive" || word == "enabled" => Ok(Thinking::Adaptive),
        Value::String(word) if word == "disabled" => Ok(Thinking::Disabled),
        Value::Bool(on) => Ok(if *on { Thinking::Adaptive } else { Thinking::Disabled }),
        _ => {
            let tokens = value.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
            tokens
                .map(Thinking::Budget)
                .ok_or_else(|| must_be(key, "\"adaptive\", \"enabled\", \"disabled\" or a number of tokens"))
        }
    }
}

fn betas(key: &str, value: &Value) -> Result<Vec<String>, InvalidProviderOptions> {
    let list = value.as_array().ok_or_else(|| must_be(key, "a list of strings"))?;
    list.iter().map(|beta| text(key, beta).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let options = json!({
            "headers": {"x-tenant": "t"},
            "body": {"service_tier": "auto"},
            "builtInWebTools": {"webSearch": true},
            "thinking": 4000,
            "reasoningEffort": "xhigh",
            "apiSurface": "chat",
            "betas": ["context-1m-2025-08-07"],
            "cacheTtl": "1h",
        });
        let parsed = ProviderOptions::parse(&options).unwrap();
        let [(name, value)] = &parsed.headers[..] else { panic!("{parsed:?}") };
        assert_eq!((name.as_str(), value.expose_secret()), ("x-tenant", "t"));
        assert_eq!(json!(parsed.body), json!({"service_tier": "auto"}));
        assert_eq!(parsed.built_in_web_tools, NativeWebTools { web_search: true, web_fetch: false });
        assert_eq!((parsed.thinking, parsed.effort), (Thinking::Budget(4000), Some(Effort::XHigh)));
        assert_eq!((parsed.api_surface, parsed.cache_ttl), (Some(ApiSurface::Chat), Some(CacheTtl::OneHour)));
        assert_eq!(parsed.betas, ["context-1m-2025-08-07"]);
        for (options, problem) in [
            (json!([]), "`options` must be an object"),
            (json!({"body": 1}), "`body` in `options` must be an object"),
            (json!({"headers": {"a": 1}}), "the header `a` in `options` must be a string"),
            (
                json!({"apiSurface": "completions"}),
                "`apiSurface` in `options` must be \"responses\" or \"chat\"",
            ),
            (
                json!({"thinking": "much"}),
                "`thinking` in `options` must be \"adaptive\", \"enabled\", \"disabled\" or a number of tokens",
            ),
        ] {
            assert_eq!(ProviderOptions::parse(&options).unwrap_err().to_string(), problem);
        }
        let unknown = ProviderOptions::parse(&json!({"hedaers": {}})).unwrap_err().to_string();
        assert!(
            unknown.starts_with("`hedaers` in `options` is not known; there are headers, body, "),
            "{unknown}"
        );
    }
}
