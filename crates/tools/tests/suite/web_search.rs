use std::sync::Arc;

use robota_tools::BraveSearch;
use serde_json::json;

use crate::server::{Server, response};
use crate::session::Session;

async fn searching(status: &str, body: &str) -> (Server, Session) {
    let server = Server::start([("/res/v1/web/search", response(status, "application/json", body))]).await;
    let backend = BraveSearch::new("key-1".to_owned().into()).with_base_url(server.url("/"));
    let session = Session::with(|options| options.search = Some(Arc::new(backend)));
    (server, session)
}

#[tokio::test]
async fn results_are_numbered() {
    let body = json!({"web": {"results": [
        {"title": "One &amp; two", "url": "https://a.example/", "description": "About <strong>one</strong>"},
        {"title": "Three", "url": "https://b.example/"},
    ]}});
    let (server, session) = searching("200 OK", &body.to_string()).await;
    let outcome = session.call("WebSearch", json!({"query": " one & two ", "limit": 50})).await;
    let expected = "1. One & two\n   https://a.example/\n   About one\n2. Three\n   https://b.example/";
    assert_eq!(outcome.content, expected);
    assert_eq!(outcome.structured.unwrap(), json!({"results": 2}));
    let request = server.requests().remove(0).to_ascii_lowercase();
    assert!(request.starts_with("get /res/v1/web/search?q=one+%26+two&count=20 http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nx-subscription-token: key-1\r\n"), "{request}");
}

#[tokio::test]
async fn failures_of_the_service_are_told_apart() {
    let cases = [
        ("401 Unauthorized", "{}", "the key was not accepted (status 401)"),
        ("429 Too Many Requests", "{}", "the limit of searches is reached; wait before the next one"),
        ("500 Internal Server Error", "oops", "status 500: oops"),
        ("200 OK", "<html>", "the answer was not understood: expected value at line 1 column 1"),
    ];
    for (status, body, reason) in cases {
        let (_server, session) = searching(status, body).await;
        let (code, text) = session.refused("WebSearch", json!({"query": "x"})).await;
        assert_eq!((code, text), ("search_failed", format!("search with Brave Search failed: {reason}")));
    }
}

#[tokio::test]
async fn without_an_engine_the_model_is_told_how_to_go_on() {
    let (code, text) = Session::new().refused("WebSearch", json!({"query": "x"})).await;
    assert_eq!(code, "not_configured");
    assert!(text.contains("BRAVE_API_KEY"), "{text}");
}
