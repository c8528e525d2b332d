//! What a service says when it refuses a request or fails, in any of the shapes in use.

use std::time::Duration;

use robota_core::ProviderErrorKind;
use serde_json::Value;

use crate::compatible_error::{add_upstream, minimax};
use crate::excerpt::excerpt;
use crate::google_error;

/// A failure as the service reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// HTTP status, or the status the report names.
    pub(crate) status: Option<u16>,
    /// `error.type`.
    pub(crate) r#type: Option<String>,
    /// `error.code`.
    pub(crate) code: Option<String>,
    /// What went wrong, in the service's words.
    pub(crate) message: String,
    /// The field the service objects to.
    pub(crate) param: Option<String>,
    /// The service's id of the request.
    pub(crate) request_id: Option<String>,
    /// The pause the service asks for within its report.
    pub(crate) retry_after: Option<Duration>,
    /// Whether the same request may succeed a little later, where the service says so itself.
    pub(crate) should_retry: Option<bool>,
    /// The report was JSON of a known shape, so the answer came from the API itself.
    pub(crate) structured: bool,
}

impl ApiError {
    /// Reads the body of an answer with an error status.
    pub(crate) fn from_body(status: u16, body: &[u8]) -> Self {
        let mut error = serde_json::from_slice::<Value>(body)
            .ok()
            .and_then(|value| Self::from_value(&value))
            .unwrap_or_else(|| Self { message: excerpt(&String::from_utf8_lossy(body)), ..Self::default() });
        error.status = Some(status);
        error
    }

    /// Reads a body that has the status of a success and reports a failure all the same.
    pub(crate) fn from_good_status(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        if let Some(error) = minimax(&value) {
            return Some(error);
        }
        google_error::unlisted(&value).get("error").filter(|error| !error.is_null())?;
        Self::from_value(&value)
    }

    /// Reads a report: `{"error": {..}}`, also in a list, `{"error": ".."}`, `{"detail": ..}` or
    /// `{"message": ".."}`.
    /// `None` when the value is no report of a failure.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let value = google_error::unlisted(value);
        let mut error = match (value.get("error"), value.get("detail")) {
            (Some(Value::String(message)), _) => Self { message: message.clone(), ..Self::default() },
            (Some(report @ Value::Object(_)), _) => Self::from_report(report),
            (_, Some(detail)) => Self::from_detail(detail)?,
            _ => match (minimax(value), value.pointer("/message/detail")) {
                (Some(error), _) => error,
                // Mistral's.
                (None, Some(detail)) => Self::from_detail(detail)?,
                (None, None) => {
                    value.get("message")?.as_str()?;
                    Self::from_report(value)
                }
            },
        };
        error.request_id = text(value, "request_id");
        error.structured = true;
        Some(error)
    }

    fn from_report(report: &Value) -> Self {
        let code = report.get("code");
        let mut error = Self {
            status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            r#type: text(report, "type"),
            code: code.and_then(Value::as_str).map(str::to_owned),
            message: text(report, "message").unwrap_or_else(|| excerpt(&report.to_string())),
            param: text(report, "param"),
            ..Self::default()
        };
        google_error::read(report, &mut error);
        add_upstream(&mut error, report);
        error
    }

    /// The shape of Python servers: a sentence, or a list of `{"loc": [..], "msg": ".."}`.
    fn from_detail(detail: &Value) -> Option<Self> {
        if let Some(message) = detail.as_str() {
            return Some(Self { message: message.to_owned(), ..Self::default() });
        }
        let first = detail.as_array()?.first()?;
        let place = first.get("loc").and_then(Value::as_array).map(|steps| {
            let steps = steps.iter().filter(|step| step.as_str() != Some("body"));
            let steps = steps.map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
            steps.collect::<Vec<_>>().join(".")
        });
        Some(Self { message: text(first, "msg")?, param: place, ..Self::default() })
    }

    /// What kind of failure it is: by the names the service gives, else by the status.
    pub(crate) fn kind(&self) -> ProviderErrorKind {
        let named = [&self.code, &self.r#type].into_iter().flatten().find_map(|name| kind_of_name(name));
        let kind = named.unwrap_or_else(|| kind_of_status(self.status));
        match kind {
            ProviderErrorKind::InvalidRequest if self.is_about_context() => ProviderErrorKind::ContextLength,
            ProviderErrorKind::InvalidRequest | ProviderErrorKind::RateLimit if self.is_about_credit() => {
                ProviderErrorKind::Permission
            }
            ProviderErrorKind::InvalidRequest if self.is_about_loading() => ProviderErrorKind::NotFound,
            kind => kind,
        }
    }

    /// True when the service has no money left to spend for the user.
    pub(crate) fn is_about_credit(&self) -> bool {
        let names = [self.code.as_deref(), self.r#type.as_deref()];
        names.into_iter().flatten().any(|name| name == "insufficient_quota" || name.starts_with("billing"))
            || self.code.as_deref() == Some("exceeded_current_quota_error")
            || self.r#type.as_deref() == Some("exceeded_current_quota_error")
            || self.says("credit balance")
            || self.says("insufficient balance")
            || self.status == Some(402)
    }

    /// True when it is the model that does not exist, rather than the address. A path that the report repeats does
    /// not count: it has the names of models in some APIs.
    pub(crate) fn is_about_model(&self, model: &str) -> bool {
        let codes = ["model_not_found", "DeploymentNotFound"];
        self.structured
            && (self.code.as_deref().is_some_and(|code| codes.contains(&code))
                || self.names("model")
                || self.names(model))
    }

    /// True when the server has the model, but somebody has to load it first.
    pub(crate) fn is_about_loading(&self) -> bool {
        ["no models loaded", "no model loaded", "model not loaded", "model is not loaded", "model unloaded"]
            .iter()
            .any(|phrase| self.says(phrase))
    }

    /// Whether the message contains `phrase`, which is in lower case.
    pub(crate) fn says(&self, phrase: &str) -> bool {
        self.message.to_ascii_lowercase().contains(&phrase.to_ascii_lowercase())
    }

    /// Whether the message has `name` as a word of its own, outside of addresses and paths.
    fn names(&self, name: &str) -> bool {
        let message = self.message.to_ascii_lowercase();
        let name = name.to_ascii_lowercase();
        let is_path = |word: &str| {
            word.contains("://")
                || word.trim_start_matches(|c: char| c.is_ascii_punctuation() && c != '/').starts_with('/')
        };
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let has = |word: &str| {
            word.match_indices(&name).any(|(at, found)| {
                let (before, after) = (word.get(..at), word.get(at + found.len()..));
                ends(before.and_then(|text| text.chars().next_back()))
                    && ends(after.and_then(|text| text.chars().next()))
            })
        };
        !name.is_empty() && message.split_whitespace().filter(|word| !is_path(word)).any(has)
    }

    fn is_about_context(&self) -> bool {
        const PHRASES: [&str; 7] = [
            "prompt is too long",
            "maximum context length",
            "exceed context limit",
            "exceeds the available context",
            "context window",
            "context length exceeded",
            "exceeds the maximum number of tokens",
        ];
        PHRASES.iter().any(|phrase| self.says(phrase))
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Names that say more than the status. `invalid_request_error` does not: OpenAI uses it for a
/// wrong key as well.
fn kind_of_name(name: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;
    Some(match name {
        "authentication_error" | "invalid_api_key" | "invalid_authentication" => Kind::Authentication,
        "permission_error" | "insufficient_quota" => Kind::Permission,
        "not_found_error" | "model_not_found" => Kind::NotFound,
        "rate_limit_error" | "rate_limit_exceeded" => Kind::RateLimit,
        "overloaded_error" | "slow_down" => Kind::Overloaded,
        "request_too_large" | "context_length_exceeded" | "exceed_context_size_error" => Kind::ContextLength,
        "content_filter" | "content_policy_violation" | "bio_policy" | "image_content_policy_violation" => {
            Kind::ContentFilter
        }
        "invalid_prompt"
        | "invalid_image"
        | "invalid_image_url"
        | "invalid_image_format"
        | "image_too_large" => Kind::InvalidRequest,
        "timeout_error" => Kind::Timeout,
        // The model wrote a call, or JSON, that the service could not read: the next attempt may be better.
        "tool_use_failed" | "json_validate_failed" => Kind::Server,
        "exceeded_current_quota_error" => Kind::Permission,
        _ if name.starts_with("billing") => Kind::Permission,
        _ => return google_error::kind_of_name(name),
    })
}

fn kind_of_status(status: Option<u16>) -> ProviderErrorKind {
    use ProviderErrorKind as Kind;
    match status {
        Some(401) => Kind::Authentication,
        Some(402 | 403) => Kind::Permission,
        Some(404 | 405 | 410) => Kind::NotFound,
        Some(408) => Kind::Timeout,
        Some(413) => Kind::ContextLength,
        Some(400 | 422) => Kind::InvalidRequest,
        Some(429) => Kind::RateLimit,
        Some(503 | 529) => Kind::Overloaded,
        // A conflict is a passing state of the service, and its own clients try again.
        Some(409 | 500..) | None => Kind::Server,
        Some(_) => Kind::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ProviderErrorKind as Kind;

    fn kind(status: u16, body: &Value) -> Kind {
        ApiError::from_body(status, body.to_string().as_bytes()).kind()
    }

    #[test]
    fn statuses_without_a_report() {
        let expected = [
            (400, Kind::InvalidRequest),
            (401, Kind::Authentication),
            (402, Kind::Permission),
            (403, Kind::Permission),
            (404, Kind::NotFound),
            (408, Kind::Timeout),
            (413, Kind::ContextLength),
            (418, Kind::Protocol),
            (422, Kind::InvalidRequest),
            (429, Kind::RateLimit),
            (500, Kind::Server),
            (502, Kind::Server),
            (503, Kind::Overloaded),
            (529, Kind::Overloaded),
        ];
        for (status, kind) in expected {
            assert_eq!(ApiError::from_body(status, b"").kind(), kind, "{status}");
        }
    }

    #[test]
    fn names_outrank_the_status() {
        let error = |r#type: &str| json!({"type": "error", "error": {"type": r#type, "message": "m"}});
        assert_eq!(kind(400, &error("invalid_request_error")), Kind::InvalidRequest);
        assert_eq!(kind(401, &error("invalid_request_error")), Kind::Authentication);
        assert_eq!(kind(500, &error("overloaded_error")), Kind::Overloaded);
        assert_eq!(kind(413, &error("request_too_large")), Kind::ContextLength);
        assert_eq!(kind(504, &error("timeout_error")), Kind::Timeout);
        assert_eq!(
            kind(429, &json!({"error": {"code": "insufficient_quota", "message": "m"}})),
            Kind::Permission
        );
        assert_eq!(
            kind(
                400,
                &json!({"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}})
            ),
            Kind::ContextLength
        );
    }

    #[test]
    fn a_request_that_is_too_long_is_told_from_a_malformed_one() {
        let too_long = json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}});
        assert_eq!(kind(400, &too_long), Kind::ContextLength);
        let poor =
            json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}});
        assert_eq!(kind(400, &poor), Kind::Permission);
    }

    #[test]
    fn every_shape_of_report_gives_message_and_field() {
        let read = |body: Value| ApiError::from_body(422, body.to_string().as_bytes());
        let field = read(json!({"error": {"message": "no", "param": "tools[0].name", "code": 422}}));
        assert_eq!((field.message.as_str(), field.param.as_deref()), ("no", Some("tools[0].name")));
        assert_eq!(read(json!({"error": "model 'x' not found"})).message, "model 'x' not found");
        assert_eq!(read(json!({"object": "error", "message": "bad"})).message, "bad");
        assert_eq!(read(json!({"detail": "Not Found"})).message, "Not Found");
        let python = read(json!({"detail": [{"loc": ["body", "messages", 0], "msg": "field required"}]}));
        assert_eq!(
            (python.message.as_str(), python.param.as_deref()),
            ("field required", Some("messages.0"))
        );
        let page = ApiError::from_body(502, b"<html>\n  <h1>Bad   Gateway</h1></html>");
        assert_eq!(page.message, "<html> <h1>Bad Gateway</h1></html>");
        assert!(!page.structured);
    }

    #[test]
    fn a_missing_model_is_told_from_a_wrong_address() {
        let missing = |message: &str, model: &str| {
            let report = json!({"error": {"message": message, "code": 404}});
            ApiError::from_body(404, report.to_string().as_bytes()).is_about_model(model)
        };
        assert!(missing("The model `m-1` does not exist", "m-1"));
        assert!(missing("model: claude-x", "claude-x"));
        assert!(missing("models/gemini-x is not found for API version v1beta", "gemini-x"));
        assert!(missing("no such deployment: 'House-1'.", "house-1"));
        assert!(!missing("Not Found", "o"));
        assert!(!missing("Cannot POST /nowhere/models/gemini-x:streamGenerateContent", "gemini-x"));
        assert!(!missing("no route for \"/openai/deployments/m-1/chat/completions\"", "m-1"));
        assert!(!missing("Invalid URL: https://models.example.com/m-1", "m-1"));
        let azure = json!({"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}});
        assert!(ApiError::from_body(404, azure.to_string().as_bytes()).is_about_model("m-1"));
    }
}
