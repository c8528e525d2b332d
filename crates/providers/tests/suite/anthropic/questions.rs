//! Models and token counts.

use robota_core::{NativeWebTools, ProviderErrorKind, Thinking};
use robota_providers::{ListedModel, ProviderKind};
use serde_json::json;

use crate::api::{request, server, spec};
use crate::raw_server::{RawServer, document};

#[tokio::test]
async fn all_pages_of_the_models_are_read() {
    let page = |id: &str, more: bool| json!({"data": [{"id": id, "display_name": id.to_uppercase()}], "has_more": more, "last_id": id});
    let server = RawServer::start([document(&page("a", true)), document(&page("b", false))]);
    let models = spec(ProviderKind::Anthropic, server.url()).connect().unwrap().models().await.unwrap();
    let model =
        |id: &str| ListedModel { id: id.into(), name: Some(id.to_uppercase()), ..ListedModel::default() };
    assert_eq!(models, [model("a"), model("b")]);
    let lines: Vec<_> = server.heard().into_iter().map(|heard| heard.line).collect();
    assert_eq!(
        lines,
        ["GET /v1/models?limit=1000 HTTP/1.1", "GET /v1/models?limit=1000&after_id=a HTTP/1.1"]
    );
}

#[tokio::test]
async fn a_request_is_counted_as_it_would_be_sent() {
    let server = RawServer::start([document(&json!({"input_tokens": 321}))]);
    let mut spec = spec(ProviderKind::Anthropic, server.url());
    spec.options.built_in_web_tools = NativeWebTools::ALL;
    spec.options.body.insert("service_tier".into(), json!("auto"));
    let mut request = request();
    request.thinking = Thinking::Budget(2000);
    request.native_web_tools = NativeWebTools::ALL;
    let count = spec.connect().unwrap().count_tokens(&request).await.unwrap();
    assert_eq!(count, Some(321));
    let heard = server.heard().remove(0);
    assert_eq!(heard.line, "POST /v1/messages/count_tokens HTTP/1.1");
    let body = heard.json;
    let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "thinking", "tools", "system", "messages"]);
    let tools: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["Read", "Glob", "web_search"]);
    assert!(!body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn a_server_that_cannot_count_says_so() {
    let server = server("ok").await;
    let spec = spec(ProviderKind::Anthropic, format!("{}/gateway", server.base_url()));
    let error = spec.connect().unwrap().count_tokens(&request()).await.unwrap_err();
    assert_eq!(error.kind(), ProviderErrorKind::NotFound);
}
