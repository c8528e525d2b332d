//! Reports of failures in shapes that only some compatible servers have.

use serde_json::Value;

use crate::api_error::ApiError;
use crate::excerpt::excerpt;

/// Adds what gateways say about the service behind them (`metadata` of OpenRouter), and what the model wrote when that
/// is the failure (`failed_generation` of Groq).
pub(crate) fn add_upstream(error: &mut ApiError, report: &Value) {
    if let Some(written) = report.get("failed_generation").and_then(Value::as_str) {
        let written = excerpt(written);
        error.message =
            format!("the model wrote what the service could not read: {written} ({})", error.message);
    }
    let Some(metadata) = report.get("metadata") else { return };
    let said = metadata.get("raw").map(|raw| match raw {
        Value::String(text) => upstream_message(text),
        other => excerpt(&other.to_string()),
    });
    let provider = metadata.get("provider_name").and_then(Value::as_str);
    let upstream: Vec<String> = provider.map(str::to_owned).into_iter().chain(said).collect();
    if !upstream.is_empty() {
        error.message = format!("{} ({})", error.message, upstream.join(": "));
    }
}

/// The message in a report that is itself JSON, or else its beginning.
fn upstream_message(raw: &str) -> String {
    let report = serde_json::from_str::<Value>(raw).ok().and_then(|value| ApiError::from_value(&value));
    excerpt(&report.map_or_else(|| raw.to_owned(), |report| report.message))
}

/// The report of MiniMax: `{"base_resp": {"status_code", "status_msg"}}` with the HTTP status of a success.
pub(crate) fn minimax(value: &Value) -> Option<ApiError> {
    let report = value.get("base_resp")?;
    let code = report.get("status_code")?.as_i64().filter(|code| *code != 0)?;
    let status = match code {
        1001 => 408,
        1002 | 1039 | 1041 | 2045 | 2056 => 429,
        1004 | 2049 => 401,
        1008 => 402,
        1026 | 1027 | 1042 | 2013 => 400,
        _ => 500,
    };
    Some(ApiError {
        status: Some(status),
        code: Some(if matches!(code, 1026 | 1027) { "content_filter".to_owned() } else { code.to_string() }),
        message: report.get("status_msg").and_then(Value::as_str).unwrap_or_default().to_owned(),
        structured: true,
        ..ApiError::default()
    })
}

#[cfg(test)]
mod tests {
    use robota_core::ProviderErrorKind as Kind;
    use serde_json::json;

    use super::*;

    #[test]
    fn gateways_tell_what_failed_behind_them() {
        understood(vec![
            (
                502,
                json!({"error": {"code": 502, "message": "Provider returned error", "metadata": {
                    "provider_name": "Acme", "raw": "{\"error\":{\"message\":\"no GPUs\"}}"}}}),
                Kind::Server,
                "Provider returned error (Acme: no GPUs)",
            ),
            (
                402,
                json!({"error": {"code": 402, "message": "Insufficient credits"}}),
                Kind::Permission,
                "Insufficient credits",
            ),
            (
                400,
                json!({"error": {"message": "Failed to call a function", "type": "invalid_request_error",
                    "code": "tool_use_failed", "failed_generation": "<function=Read>{"}}),
                Kind::Server,
                "the model wrote what the service could not read: <function=Read>{ (Failed to call a function)",
            ),
        ]);
    }

    #[test]
    fn every_service_is_understood() {
        understood(vec![
            (
                404,
                json!({"error": "model 'x' not found, try pulling it first"}),
                Kind::NotFound,
                "model 'x' not found, try pulling it first",
            ),
            (
                400,
                json!({"error": {"message": "No models loaded. Please load a model."}}),
                Kind::NotFound,
                "No models loaded. Please load a model.",
            ),
            (
                400,
                json!({"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_ctx": 4096}}),
                Kind::ContextLength,
                "the request exceeds the available context size",
            ),
            (
                503,
                json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
                Kind::Overloaded,
                "Loading model",
            ),
            (
                429,
                json!({"error": {"code": "1113", "message": "Insufficient balance or no resource package."}}),
                Kind::Permission,
                "Insufficient balance or no resource package.",
            ),
            (
                422,
                json!({"object": "error", "message": {"detail": [{"loc": ["body", "x"], "msg": "Extra inputs are not permitted"}]}}),
                Kind::InvalidRequest,
                "Extra inputs are not permitted",
            ),
        ]);
    }

    fn understood(reports: Vec<(u16, Value, Kind, &str)>) {
        for (status, body, kind, message) in reports {
            let error = ApiError::from_body(status, body.to_string().as_bytes());
            assert_eq!((error.kind(), error.message.as_str()), (kind, message), "{body}");
        }
    }

    #[test]
    fn minimax_reports_failures_as_successes() {
        let minimax = |code: i64| json!({"base_resp": {"status_code": code, "status_msg": "m"}}).to_string();
        let read = |code| ApiError::from_good_status(minimax(code).as_bytes()).map(|error| error.kind());
        let kinds = [0, 1002, 1004, 1008, 1027, 9999].map(read);
        let expected =
            [Kind::RateLimit, Kind::Authentication, Kind::Permission, Kind::ContentFilter, Kind::Server];
        assert_eq!(kinds, [None].into_iter().chain(expected.map(Some)).collect::<Vec<_>>()[..]);
    }
}
