//! Whatever a service answers instead of an answer is a typed error with all that a person needs.

use std::time::Duration;

use robota_core::ProviderErrorKind as Kind;
use robota_testkit::Reply;
use serde_json::json;

use super::case::{Case, cases};
use super::events::text;
use super::recording::Recording;
use super::subject::Subject;
use crate::api::{KEY, server};

pub(super) const CASES: &[Case] = cases![
    status_400,
    status_401,
    status_402,
    status_403,
    status_404,
    status_408,
    status_409,
    status_413,
    status_422,
    status_429,
    status_500,
    status_502,
    status_503,
    status_529,
    the_pause_that_the_server_asks_for[WholeErrors],
    a_prompt_that_is_too_long[Http],
    a_wrong_key_is_not_shown[Http],
    a_missing_model_is_named[Http],
    a_page_in_place_of_a_failure[Http],
    a_failure_without_any_words[Http],
    a_failure_with_the_status_of_a_success[Http],
    a_page_with_the_status_of_a_success[Http],
    a_document_in_place_of_a_stream[Http],
    a_stream_under_another_content_type[Http],
    a_stream_without_a_content_type[Http],
    a_redirect_is_not_followed[Http],
    an_error_before_any_text,
    an_error_after_some_text,
    rubbish_within_a_stream[Http],
];

macro_rules! statuses {
    ($($name:ident: $status:literal $kind:ident $(, $retryable:ident)?;)*) => {$(
        async fn $name(subject: &Subject) {
            let retryable = false $(|| stringify!($retryable) == "again")?;
            refused(subject, $status, Kind::$kind, retryable).await;
        }
    )*};
}

statuses! {
    status_400: 400 InvalidRequest;
    status_401: 401 Authentication;
    status_402: 402 Permission;
    status_403: 403 Permission;
    status_404: 404 NotFound;
    status_408: 408 Timeout, again;
    status_409: 409 Server, again;
    status_413: 413 ContextLength;
    status_422: 422 InvalidRequest;
    status_429: 429 RateLimit, again;
    status_500: 500 Server, again;
    status_502: 502 Server, again;
    status_503: 503 Overloaded, again;
    status_529: 529 Overloaded, again;
}

async fn refused(subject: &Subject, status: u16, kind: Kind, retryable: bool) {
    let reply = Reply::error(status, "that is how it is");
    let error = subject.plays(reply).await.failure().await;
    assert_eq!(
        (error.kind(), error.status(), error.is_retryable()),
        (kind, Some(status), retryable),
        "{error:?}"
    );
    assert!(error.to_string().contains("that is how it is"), "{error}");
    assert_eq!(error.request_id(), subject.has_http().then_some("req_fake_1"));
}

async fn the_pause_that_the_server_asks_for(subject: &Subject) {
    let error = subject.plays(Reply::error(429, "slow down").retry_after(7)).await.failure().await;
    assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimit, Some(Duration::from_secs(7))));
}

async fn a_prompt_that_is_too_long(subject: &Subject) {
    let reply = Reply::error(400, "prompt is too long: 210000 tokens > 200000 maximum");
    assert_eq!(subject.plays(reply).await.failure().await.kind(), Kind::ContextLength);
}

async fn a_wrong_key_is_not_shown(subject: &Subject) {
    for reply in [
        Reply::error(401, format!("invalid key {KEY}")),
        Reply::body(401, "text/html", format!("<p>{KEY}</p>")),
        Reply::body(200, "text/html", format!("<p>{KEY}</p>")),
        Reply::new().text("x").stream_error("authentication_error", format!("invalid key {KEY}")),
        Reply::body(307, "text/plain", "").header("location", format!("https://a.example/?key={KEY}")),
    ] {
        // The stage looks for the key in all that an error shows.
        subject.plays(reply).await.failure().await;
    }
    let error = subject.plays(Reply::error(401, "no")).await.failure().await;
    assert!(error.hint().is_some_and(|hint| hint.starts_with("check ")), "{:?}", error.hint());
}

async fn a_missing_model_is_named(subject: &Subject) {
    let error = subject.plays(Reply::error(404, "model: model-1")).await.failure().await;
    assert_eq!(error.kind(), Kind::NotFound);
    assert!(error.to_string().contains("does not know the model `model-1`"), "{error}");
}

async fn a_page_in_place_of_a_failure(subject: &Subject) {
    let reply = Reply::body(502, "text/html", "<html><h1>Bad Gateway</h1></html>");
    let error = subject.plays(reply).await.failure().await;
    assert_eq!((error.kind(), error.status(), error.is_retryable()), (Kind::Server, Some(502), true));
    assert!(error.to_string().contains("Bad Gateway"), "{error}");
    let error = subject.plays(Reply::body(404, "text/html", "<h1>Not Found</h1>")).await.failure().await;
    assert_eq!(error.kind(), Kind::NotFound);
    assert!(error.hint().is_some_and(|hint| hint.contains("base URL")), "{:?}", error.hint());
}

async fn a_failure_without_any_words(subject: &Subject) {
    let error = subject.plays(Reply::body(503, "text/plain", "")).await.failure().await;
    assert_eq!((error.kind(), error.status()), (Kind::Overloaded, Some(503)));
    assert!(!error.to_string().trim_end().ends_with(':'), "{error}");
}

async fn a_failure_with_the_status_of_a_success(subject: &Subject) {
    let report =
        json!({"error": {"type": "overloaded_error", "code": "overloaded_error", "message": "busy"}});
    let error = subject.plays(Reply::body(200, "application/json", report.to_string())).await.failure().await;
    assert_eq!(error.kind(), Kind::Overloaded);
    assert!(error.to_string().contains("busy"), "{error}");
}

async fn a_page_with_the_status_of_a_success(subject: &Subject) {
    let page = "<!doctype html>\n<title>Sign in</title>";
    let error = subject.plays(Reply::body(200, "text/html", page)).await.failure().await;
    assert_eq!((error.kind(), error.status(), error.is_retryable()), (Kind::Protocol, Some(200), false));
    assert!(error.to_string().contains("Sign in") && error.hint().is_some(), "{error}");
}

async fn a_document_in_place_of_a_stream(subject: &Subject) {
    let error = subject.plays(Reply::body(200, "application/json", "{\"ok\": true}")).await.failure().await;
    assert_eq!((error.kind(), error.status()), (Kind::Protocol, Some(200)));
}

async fn a_stream_under_another_content_type(subject: &Subject) {
    let recording = Recording::of(subject, Reply::new().text("hi")).await;
    for content_type in
        ["text/plain", "application/json", "application/octet-stream", "Text/Event-Stream; x=y"]
    {
        let reply = Reply::body(200, content_type, recording.text.as_bytes());
        recording.is_meant_by(subject, reply).await;
    }
}

async fn a_stream_without_a_content_type(subject: &Subject) {
    let recording = Recording::of(subject, Reply::new().text("hi")).await;
    recording.is_meant_by(subject, Reply::body(200, "", recording.text.as_bytes())).await;
}

async fn a_redirect_is_not_followed(subject: &Subject) {
    let target = server(Reply::new().text("caught")).await;
    let redirect = Reply::body(307, "text/plain", "").header("location", target.base_url());
    let error = subject.plays(redirect).await.failure().await;
    assert_eq!((error.kind(), error.status()), (Kind::Protocol, Some(307)));
    assert!(error.to_string().contains(&target.base_url()), "{error}");
    assert!(target.requests().is_empty());
}

async fn an_error_before_any_text(subject: &Subject) {
    let reply = Reply::new().stream_error("overloaded_error", "busy");
    let error = subject.plays(reply).await.failure().await;
    assert!(error.kind() == Kind::Overloaded && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("busy"), "{error}");
}

async fn an_error_after_some_text(subject: &Subject) {
    let reply = Reply::new().text("half").stream_error("overloaded_error", "busy");
    let (events, error) = subject.plays(reply).await.call().await;
    let error = error.unwrap();
    assert_eq!((text(&events).as_str(), error.kind()), ("half", Kind::Overloaded));
    assert_eq!(error.request_id(), subject.has_http().then_some("req_fake_1"));
}

async fn rubbish_within_a_stream(subject: &Subject) {
    for rubbish in [b"data: <oops>\n\n".as_slice(), b"data: {\"type\":\"ping\xff\"}\n\n", b"data: [1,\n\n"] {
        let reply = Reply::new().text("half").raw(rubbish).text("whole");
        let (events, error) = subject.plays(reply).await.call().await;
        assert_eq!((text(&events).as_str(), error.unwrap().kind()), ("half", Kind::Protocol));
    }
}
