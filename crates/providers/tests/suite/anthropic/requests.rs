//! What requests ask for, and what is left out when a server does not know it.

use std::sync::Arc;

use robota_core::{
    Body, Effort, Message, ModelRequest, NativeWebTools, Part, Provider, ResponseFormat, Thinking, Timestamp,
    ToolChoice,
};
use robota_providers::{RetryPolicy, Retrying};
use robota_testkit::{Reply, Script};
use serde_json::json;

use super::{provider, sent};
use crate::api::{request, server, tool};
use crate::conversation::message;

#[tokio::test]
async fn everything_a_request_can_ask_for_is_written() {
    let server = server("ok").await;
    let options = json!({
        "builtInWebTools": {"webSearch": true, "webFetch": true}, "betas": ["x-2026-01-01"], "cacheTtl": "1h",
        "headers": {"Anthropic-Beta": "y-2026-01-01"}, "body": {"service_tier": "auto"},
    });
    let document = |mime_type: &str, data: &str| Part::DocumentInline {
        mime_type: mime_type.into(),
        data: data.into(),
        name: Some("paper".into()),
    };
    let mut request = request();
    request.model = "claude-opus-4-6".into();
    request.messages = vec![message(
        "u",
        Body::User {
            content: "What do they say?".into(),
            parts: vec![
                document("application/pdf", "JVBERi0="),
                document("text/plain", "aGk="),
                document("application/zip", "UEs="),
                Part::ImageInline { mime_type: "image/bmp".into(), data: "Qk0=".into() },
            ],
            name: None,
        },
    )];
    request.max_output_tokens = Some(5_000);
    request.thinking = Thinking::Adaptive;
    request.effort = Some(Effort::XHigh);
    request.native_web_tools = NativeWebTools::ALL;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    request.response_format = Some(ResponseFormat::new("answer", schema));
    let (body, _) = sent(&provider(&server, &options), &server, request).await;
    insta::assert_snapshot!("everything", serde_json::to_string_pretty(&body).unwrap());
    let betas = server.requests()[0].header("anthropic-beta").map(str::to_owned);
    assert_eq!(betas.as_deref(), Some("web-fetch-2025-09-10,x-2026-01-01,y-2026-01-01"));
}

fn searching() -> ModelRequest {
    let mut request = request();
    request.native_web_tools = NativeWebTools::ALL;
    request
}

#[tokio::test]
async fn web_tools_are_asked_for_only_where_they_may_and_can_be() {
    let server = server(Script::from_iter(["ok", "ok"])).await;
    let unset = provider(&server, &json!({}));
    assert!(unset.configure_native_web_tools("claude-sonnet-4-5", NativeWebTools::ALL).enabled().is_empty());
    sent(&unset, &server, searching()).await;
    assert_eq!(server.requests()[0].tool_names(), ["Read", "Glob"]);
    assert_eq!(server.requests()[0].header("anthropic-beta"), None);

    let allowed = provider(&server, &json!({"builtInWebTools": {"webSearch": true, "webFetch": true}}));
    // Retries are wrapped around providers, and must not hide it.
    let retrying = Retrying::new(Arc::new(allowed.clone()), RetryPolicy::default());
    let report = retrying.configure_native_web_tools("claude-sonnet-4-5", NativeWebTools::ALL);
    assert_eq!(report.enabled(), NativeWebTools::ALL);
    let mut request = searching();
    request.messages = vec![Message::user("m2", Timestamp::default(), "Another question").into()];
    // A tool of the caller's own that has the name keeps it.
    request.tools = Arc::new([tool("WebSearch"), tool("web_fetch")]);
    sent(&allowed, &server, request).await;
    assert_eq!(server.requests()[1].tool_names(), ["WebSearch", "web_fetch", "web_search"]);
    assert_eq!(server.requests()[1].header("anthropic-beta"), None);
}

#[tokio::test]
async fn a_beta_that_a_gateway_refuses_is_left_out_from_then_on() {
    let refusal = "Unexpected value(s) `x-2026-01-01` for the `anthropic-beta` header.";
    let script = Script::new().reply(Reply::error(400, refusal)).reply("first").reply("second");
    let server = server(script).await;
    let provider = provider(&server, &json!({"betas": ["x-2026-01-01", "y-2026-01-01"]}));
    let mut request = request();
    sent(&provider, &server, request.clone()).await;
    request.messages = vec![Message::user("m2", Timestamp::default(), "Another question").into()];
    sent(&provider, &server, request).await;
    let requests = server.requests();
    let betas: Vec<_> = requests.iter().map(|request| request.header("anthropic-beta")).collect();
    assert_eq!(betas, [Some("x-2026-01-01,y-2026-01-01"), Some("y-2026-01-01"), Some("y-2026-01-01")]);
}

#[tokio::test]
async fn a_gateway_that_knows_another_form_of_thinking_is_asked_in_that() {
    let refusal =
        "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\".";
    let server = server(Script::new().reply(Reply::error(400, refusal)).reply("ok")).await;
    let provider = provider(&server, &json!({"thinking": 2000}));
    let (body, _) = sent(&provider, &server, request()).await;
    assert_eq!(server.requests()[0].field("thinking"), &json!({"type": "enabled", "budget_tokens": 2000}));
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
}

#[tokio::test]
async fn fields_that_users_write_themselves_win() {
    let server = server("ok").await;
    let thinking = json!({"type": "enabled", "budget_tokens": 4000});
    let options =
        json!({"body": {"thinking": thinking, "output_config": {"effort": "low"}}, "thinking": "disabled"});
    let mut request = request();
    request.effort = Some(Effort::Max);
    request.thinking = Thinking::Budget(9000);
    request.tool_choice = ToolChoice::Required;
    let (body, _) = sent(&provider(&server, &options), &server, request).await;
    assert_eq!(body["thinking"], thinking);
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    // Written once: a body that says a field twice is no JSON to some.
    let text = String::from_utf8(server.requests()[0].body.to_vec()).unwrap();
    assert_eq!(text.matches("\"thinking\"").count(), 1);
}

#[tokio::test]
async fn a_failed_call_shows_nothing_but_text() {
    let server = server("ok").await;
    let mut request = request();
    let call = robota_core::ToolCall { id: "c".into(), name: "Read".into(), arguments: "{}".into() };
    request.messages.push(message(
        "a",
        Body::Assistant { content: None, parts: Vec::new(), tool_calls: vec![call], reasoning: Vec::new() },
    ));
    let image = Part::ImageInline { mime_type: "image/png".into(), data: "aGk=".into() };
    request.messages.push(message(
        "r",
        Body::Tool {
            content: "it broke".into(),
            tool_call_id: "c".into(),
            name: None,
            is_error: true,
            parts: vec![image],
        },
    ));
    let (body, _) = sent(&provider(&server, &json!({})), &server, request).await;
    let kinds: Vec<_> = body["messages"][2]["content"][0]["content"].as_array().unwrap().iter().collect();
    assert!(kinds.iter().all(|block| block["type"] == "text") && kinds.len() == 2, "{kinds:?}");
}
