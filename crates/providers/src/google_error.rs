//! Failures in the shape of Google's APIs: `{"code", "message", "status", "details"}`.

use std::time::Duration;

use robota_core::ProviderErrorKind;
use serde_json::Value;

use crate::api_error::ApiError;

/// The first report where some come in a list, as they do without an event stream.
pub(crate) fn unlisted(value: &Value) -> &Value {
    value.as_array().and_then(|list| list.first()).unwrap_or(value)
}

/// Takes from `report` what only Google's reports have.
pub(crate) fn read(report: &Value, error: &mut ApiError) {
    let Some(status) = report.get("status").and_then(Value::as_str) else { return };
    error.code.get_or_insert_with(|| status.to_owned());
    for detail in report.get("details").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| detail.get(field).and_then(Value::as_str);
        if let Some(delay) = text("retryDelay").and_then(span) {
            error.retry_after = Some(delay);
        }
        // More exact than the status: a wrong key is an `INVALID_ARGUMENT`.
        if let Some(reason) = text("reason") {
            error.r#type.get_or_insert_with(|| reason.to_owned());
        }
        let violations = detail.get("fieldViolations").and_then(Value::as_array);
        let fields =
            violations.into_iter().flatten().filter_map(|violation| violation.get("field")?.as_str());
        if let Some(field) = fields.into_iter().find(|field| !field.is_empty()) {
            error.param.get_or_insert_with(|| field.to_owned());
        }
    }
}

/// A span such as `27s` or `0.5s`.
fn span(text: &str) -> Option<Duration> {
    text.strip_suffix('s')?.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// What kind of failure a status or reason is.
pub(crate) fn kind_of_name(name: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;
    Some(match name {
        "UNAUTHENTICATED" | "API_KEY_INVALID" | "API_KEY_EXPIRED" | "ACCESS_TOKEN_EXPIRED" => {
            Kind::Authentication
        }
        // Where the service is not offered, or not for free.
        "PERMISSION_DENIED" | "FAILED_PRECONDITION" => Kind::Permission,
        "NOT_FOUND" => Kind::NotFound,
        "RESOURCE_EXHAUSTED" => Kind::RateLimit,
        "UNAVAILABLE" => Kind::Overloaded,
        "DEADLINE_EXCEEDED" => Kind::Timeout,
        "INTERNAL" => Kind::Server,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ProviderErrorKind as Kind;

    fn read_body(status: u16, body: &Value) -> ApiError {
        ApiError::from_body(status, body.to_string().as_bytes())
    }

    #[test]
    fn statuses_and_reasons_tell_the_kind() {
        let error =
            |code: u16, status: &str| json!({"error": {"code": code, "message": "m", "status": status}});
        for (code, status, kind) in [
            (400, "INVALID_ARGUMENT", Kind::InvalidRequest),
            (400, "FAILED_PRECONDITION", Kind::Permission),
            (401, "UNAUTHENTICATED", Kind::Authentication),
            (403, "PERMISSION_DENIED", Kind::Permission),
            (404, "NOT_FOUND", Kind::NotFound),
            (429, "RESOURCE_EXHAUSTED", Kind::RateLimit),
            (500, "INTERNAL", Kind::Server),
            (503, "UNAVAILABLE", Kind::Overloaded),
            (504, "DEADLINE_EXCEEDED", Kind::Timeout),
        ] {
            assert_eq!(read_body(code, &error(code, status)).kind(), kind, "{status}");
            assert_eq!(read_body(code, &json!([error(code, status)])).kind(), kind, "{status} in a list");
        }
        let key = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
            "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
        assert_eq!(read_body(400, &key).kind(), Kind::Authentication);
        let long = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}});
        assert_eq!(read_body(400, &long).kind(), Kind::ContextLength);
    }

    #[test]
    fn details_tell_pause_and_field() {
        let body = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "q"}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "27.5s"},
        ]}});
        let error = read_body(429, &body);
        assert_eq!((error.retry_after, error.status), (Some(Duration::from_millis(27_500)), Some(429)));
        let violation = json!({"field": "tools[0].function_declarations", "description": "bad"});
        let body = json!({"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT", "details": [
            {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]}});
        assert_eq!(read_body(400, &body).param.as_deref(), Some("tools[0].function_declarations"));
        for odd in ["", "s", "-1s", "1e400s", "27"] {
            assert_eq!(span(odd), None, "{odd}");
        }
    }
}
