use std::sync::Arc;

use robota_tools::{BraveSearch, SearchConfig, SearchProvider, search_backend};
use serde_json::json;

use crate::server::{Server, redirect, response};
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
        {"title": null, "url": 3},
        {"title": "Steers", "url": "https://c.example/\u{1b}[2J"},
        "odd",
        {"title": "Thr\u{1b}ee", "url": "https://b.example/", "description": null},
    ]}});
    let (server, session) = searching("200 OK", &body.to_string()).await;
    let outcome = session.call("WebSearch", json!({"query": " one & two ", "limit": 50})).await;
    let expected = "1. One & two\n   https://a.example/\n   About one\n2. Thr ee\n   https://b.example/";
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
        (
            "422 Unprocessable Entity",
            r#"{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"x"}}"#,
            "the key was not accepted (status 422)",
        ),
        ("500 Internal Server Error", "<b>oops</b>", "status 500: oops"),
        ("200 OK", r#"{"error":{"detail":"no\u001b[2J\nplan"}}"#, "status 200: no [2J plan"),
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
    for variable in ["BRAVE_API_KEY", "TAVILY_API_KEY", "SEARXNG_URL"] {
        assert!(text.contains(variable), "{text}");
    }
}

/// A session with the engine that `config` names, at the server.
fn configured(server: &Server, provider: SearchProvider, key: Option<&str>) -> Session {
    let config = SearchConfig {
        provider,
        api_key: key.map(|key| key.to_owned().into()),
        base_url: Some(server.url("/base/")),
    };
    Session::with(|options| options.search = Some(search_backend(config).unwrap()))
}

#[tokio::test]
async fn tavily_is_asked_in_its_own_way() {
    let body = json!({"query": "x", "results": [
        {"title": "One", "url": "https://a.example/", "content": "About  <b>one</b>\n", "score": 0.9},
        {"title": null, "url": "javascript:alert(1)", "content": "no page"},
    ]});
    let server =
        Server::start([("/base/search", response("200 OK", "application/json", body.to_string()))]).await;
    let session = configured(&server, SearchProvider::Tavily, Some("key-2"));
    let text = session.ok("WebSearch", json!({"q": "x", "count": "3"})).await;
    assert_eq!(text, "1. One\n   https://a.example/\n   About one");
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /base/search HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("\r\nauthorization: bearer key-2\r\n"), "{request}");
    assert!(request.ends_with(r#"{"query":"x","max_results":3}"#), "{request}");
}

#[tokio::test]
async fn searxng_is_asked_in_its_own_way() {
    let results: Vec<_> =
        (0..30).map(|n| json!({"title": n.to_string(), "url": format!("https://a.example/{n}")})).collect();
    let body = json!({"results": results}).to_string();
    let server = Server::start([("/base/search", response("200 OK", "application/json", body))]).await;
    let session = configured(&server, SearchProvider::Searxng, None);
    let outcome = session.call("WebSearch", json!({"query": "a b"})).await;
    assert_eq!(outcome.structured.unwrap(), json!({"results": 10}));
    let request = server.requests().remove(0);
    assert!(request.starts_with("GET /base/search?q=a+b&format=json HTTP/1.1\r\n"), "{request}");
    assert!(!request.to_ascii_lowercase().contains("authorization"), "{request}");
}

#[tokio::test]
async fn every_engine_says_what_is_wrong_with_it() {
    let limited =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let plan = json!({"detail": {"error": "This request exceeds your plan"}}).to_string();
    let long = format!("{{\"results\":[{}", " ".repeat(4_000_001));
    let cases = [
        (
            SearchProvider::Searxng,
            response("403 Forbidden", "text/html", "<h1>Forbidden</h1>"),
            "search with SearXNG failed: status 403: the instance does not answer in JSON, or not for programs; `json` \
             has to be in `search.formats` of its settings.yml",
        ),
        (
            SearchProvider::Tavily,
            response("432 Limit", "application/json", plan),
            "search with Tavily failed: status 432: the plan of the key is used up: This request exceeds your plan",
        ),
        (
            SearchProvider::Tavily,
            limited.to_vec(),
            "search with Tavily failed: the limit of searches is reached; wait 7 s before the next one",
        ),
        (
            SearchProvider::Searxng,
            response(
                "200 OK",
                "application/json",
                r#"{"results":[],"unresponsive_engines":[["google","CAPTCHA"]]}"#,
            ),
            "search with SearXNG failed: status 200: its engines did not answer: google: CAPTCHA",
        ),
        (
            SearchProvider::Searxng,
            response("200 OK", "application/json", long),
            "search with SearXNG failed: the answer is too long: no end in sight",
        ),
    ];
    for (provider, answer, expected) in cases {
        let server = Server::start([("/base/search", answer)]).await;
        let session = configured(&server, provider, Some("key-3"));
        let (code, text) = session.refused("WebSearch", json!({"query": "x"})).await;
        assert_eq!((code, text.as_str()), ("search_failed", expected));
    }
}

#[tokio::test]
async fn the_key_does_not_follow_a_redirect() {
    let other = Server::start([("/search", response("200 OK", "application/json", "{}"))]).await;
    let server = Server::start([("/base/search", redirect(&other.url("/search")))]).await;
    let session = configured(&server, SearchProvider::Tavily, Some("key-4"));
    let (_, text) = session.refused("WebSearch", json!({"query": "x"})).await;
    let expected = format!(
        "search with Tavily failed: status 302: it redirects to {}, which is not followed; set the address it has now",
        other.url("/search")
    );
    assert_eq!((text, other.requests().len()), (expected, 0));
}

#[tokio::test]
async fn results_can_be_of_some_sites_only() {
    let body = json!({"results": [
        {"title": "One", "url": "https://docs.a.example/"},
        {"title": "Two", "url": "https://b.example/"},
        {"title": "Three", "url": "https://old.a.example/"},
    ]});
    let server =
        Server::start([("/base/search", response("200 OK", "application/json", body.to_string()))]).await;
    let session = configured(&server, SearchProvider::Searxng, None);
    let call = json!({"query": "x", "allowed_domains": ["a.example"], "blockedDomains": ["old.a.example"]});
    assert_eq!(session.ok("WebSearch", call).await, "1. One\n   https://docs.a.example/");
    let request = server.requests().remove(0);
    assert!(request.contains("q=x+site%3Aa.example+-site%3Aold.a.example&"), "{request}");
    let wrong = session.refused("WebSearch", json!({"query": "x", "allowedDomains": ["a b"]})).await;
    assert_eq!(wrong, ("invalid_argument", "`a b` is not a domain; write one like `example.com`".to_owned()));
}
