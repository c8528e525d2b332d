//! The error shapes of the APIs.

use serde_json::{Value, json};

use crate::Dialect;

/// The body of an error response.
pub(crate) fn error_body(
    dialect: Dialect,
    status: u16,
    kind: Option<&str>,
    message: &str,
    number: usize,
) -> Value {
    match dialect {
        Dialect::AnthropicMessages => {
            let kind = kind.unwrap_or_else(|| anthropic_type(status));
            let error = json!({"type": kind, "message": message});
            json!({"type": "error", "error": error, "request_id": format!("req_fake_{number}")})
        }
        Dialect::Gemini => {
            let status_name = kind.unwrap_or_else(|| gemini_status(status));
            json!({"error": {"code": status, "message": message, "status": status_name}})
        }
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::InProcess => {
            let (usual, code) = openai_type(status);
            let kind = kind.unwrap_or(usual);
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

fn gemini_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..=599 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

fn openai_type(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        500..=599 => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}
