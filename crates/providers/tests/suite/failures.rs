//! Whatever goes wrong is a typed error that says what happened and what to do.

use std::time::Duration;

use robota_core::{ModelEvent, ProviderErrorKind as Kind};
use robota_providers::ProviderKind;
use robota_testkit::{FakeModelServer, Reply};

use crate::api::{KEY, call, failure, provider, request, send, server, spec, text};

#[tokio::test]
async fn each_status_has_its_kind() {
    let expected = [
        (400, Kind::InvalidRequest),
        (401, Kind::Authentication),
        (403, Kind::Permission),
        (413, Kind::ContextLength),
        (429, Kind::RateLimit),
        (500, Kind::Server),
        (503, Kind::Overloaded),
        (529, Kind::Overloaded),
    ];
    for kind in crate::api::KINDS {
        for (status, expected) in expected {
            let server = server(Reply::error(status, "so it is")).await;
            let error = failure(&provider(kind, &server)).await;
            assert_eq!((error.kind(), error.status()), (expected, Some(status)), "{kind} {status}: {error}");
            assert!(error.to_string().contains("so it is"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_wrong_key_names_the_variable_and_never_the_key() {
    for kind in crate::api::KINDS {
        let server = server(Reply::error(401, format!("invalid key {KEY}"))).await;
        let error = failure(&provider(kind, &server)).await;
        assert_eq!(
            error.hint(),
            Some(format!("check {}", kind.definition().key_variable().unwrap()).as_str())
        );
        assert!(
            error.to_string().ends_with("did not accept the key (HTTP 401): invalid key [key]"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_missing_model_is_told_from_a_missing_endpoint() {
    for kind in crate::api::KINDS {
        let server = server(Reply::error(404, "model: model-1")).await;
        let error = failure(&provider(kind, &server)).await;
        assert_eq!(error.kind(), Kind::NotFound);
        assert!(error.to_string().contains("does not know the model `model-1`"), "{error}");

        server.enqueue(Reply::body(404, "text/html", "<h1>Not Found</h1>"));
        let provider = provider(kind, &server);
        let error = failure(&provider).await;
        assert_eq!(error.kind(), Kind::NotFound);
        assert!(
            error.to_string().contains(&format!("there is no such API at {}", provider.url())),
            "{error}"
        );
        assert!(error.hint().unwrap().contains(kind.definition().base_url_variable));
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_no_invalid_request() {
    for kind in crate::api::KINDS {
        let server = server(Reply::error(400, "prompt is too long: 210000 tokens > 200000 maximum")).await;
        assert_eq!(failure(&provider(kind, &server)).await.kind(), Kind::ContextLength);
    }
}

#[tokio::test]
async fn the_request_id_and_the_wait_asked_for_are_kept() {
    for (kind, header) in [(ProviderKind::Anthropic, "request-id"), (ProviderKind::OpenAi, "x-request-id")] {
        let server = server(Reply::error(429, "slow down").retry_after(7).header(header, "req-1")).await;
        let error = failure(&provider(kind, &server)).await;
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(error.request_id(), Some("req-1"));
    }
}

#[tokio::test]
async fn a_page_or_a_document_in_place_of_a_stream_is_shown() {
    for kind in crate::api::KINDS {
        for (content_type, body) in
            [("text/html", "<!doctype html>\n<title>Sign in</title>"), ("application/json", "{\"ok\": true}")]
        {
            let server = server(Reply::body(200, content_type, body)).await;
            let provider = provider(kind, &server);
            let error = failure(&provider).await;
            assert_eq!((error.kind(), error.status()), (Kind::Protocol, Some(200)));
            let message = error.to_string();
            let body = body.replace('\n', " ");
            assert_eq!(
                message,
                format!("{} answered with {content_type} instead of an event stream: {body}", provider.url())
            );
            assert!(error.hint().unwrap().contains("base URL looks wrong"));
        }
    }
}

#[tokio::test]
async fn an_error_report_with_the_status_of_a_success_is_an_error_all_the_same() {
    for kind in crate::api::KINDS {
        let report = "{\"error\": {\"type\": \"overloaded_error\", \"message\": \"busy\"}}";
        let server = server(Reply::body(200, "application/json", report)).await;
        let error = failure(&provider(kind, &server)).await;
        assert_eq!((error.kind(), error.status()), (Kind::Overloaded, None));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for kind in crate::api::KINDS {
        let target = server(Reply::new().text("caught")).await;
        let redirect = Reply::body(307, "text/plain", "").header("location", target.base_url());
        let server = server(redirect).await;
        let error = failure(&provider(kind, &server)).await;
        assert_eq!((error.kind(), error.status()), (Kind::Protocol, Some(307)));
        assert!(error.to_string().contains(&target.base_url()), "{error}");
        assert!(target.requests().is_empty());
    }
}

#[tokio::test]
async fn a_stream_that_breaks_or_ends_early_is_no_success() {
    for kind in crate::api::KINDS {
        for reply in [Reply::new().text("half").cut(), Reply::new().text("half").end()] {
            let server = server(reply).await;
            let (events, error) = call(&provider(kind, &server)).await;
            assert_eq!(error.map(|error| error.kind()), Some(Kind::Network), "{kind}");
            assert_eq!(text(&events), "half");
            assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finish(_))));
        }
        let server = server(Reply::hang_up()).await;
        assert_eq!(failure(&provider(kind, &server)).await.kind(), Kind::Network);
    }
}

#[tokio::test]
async fn an_error_within_the_stream_is_typed_like_one_before_it() {
    for kind in crate::api::KINDS {
        let reply = Reply::new().text("half").stream_error("overloaded_error", "busy");
        let server = server(reply.header("request-id", "req-2")).await;
        let (events, error) = call(&provider(kind, &server)).await;
        let error = error.unwrap();
        assert_eq!((error.kind(), text(&events).as_str()), (Kind::Overloaded, "half"), "{kind}");
        assert!(error.to_string().contains("busy"), "{error}");
        assert_eq!(error.request_id(), Some("req-2"));
    }
}

#[tokio::test]
async fn garbage_within_the_stream_is_a_protocol_error() {
    for kind in crate::api::KINDS {
        for garbage in [b"data: <oops>\n\n".as_slice(), b"data: {\"type\":\"ping\xff\"}\n\n"] {
            let server = server(Reply::new().text("half").raw(garbage)).await;
            assert_eq!(failure(&provider(kind, &server)).await.kind(), Kind::Protocol, "{kind}");
        }
    }
}

#[tokio::test]
async fn what_a_broken_event_said_first_comes_before_the_error() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"half\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"Read\",\"arguments\":\"\\ud800\"}}]}}]}\n\n";
    let server = server(Reply::body(200, "text/event-stream", body)).await;
    let (events, error) = call(&provider(ProviderKind::OpenAi, &server)).await;
    assert_eq!(error.map(|error| error.kind()), Some(Kind::Protocol));
    assert_eq!(text(&events), "half");
}

#[tokio::test]
async fn silence_ends_with_a_timeout_before_and_within_the_answer() {
    for kind in crate::api::KINDS {
        for reply in [Reply::new().text("never").hold_at("gate"), Reply::new().text("half").gate("gate")] {
            let server = server(reply).await;
            let mut spec = spec(kind, server.base_url());
            spec.connection.idle_timeout = Duration::from_millis(50);
            let error = failure(&spec.connect().unwrap()).await;
            assert_eq!(error.kind(), Kind::Timeout, "{kind}");
            assert!(error.to_string().ends_with("sent nothing for 50ms"), "{error}");
        }
    }
}

#[tokio::test]
async fn the_idle_time_of_a_request_goes_before_that_of_the_connection() {
    for kind in crate::api::KINDS {
        for reply in [Reply::new().text("never").hold_at("gate"), Reply::new().text("half").gate("gate")] {
            let server = server(reply).await;
            let mut request = request();
            request.idle_timeout = Some(Duration::from_millis(50));
            let error = send(&provider(kind, &server), request).await.1.unwrap();
            assert_eq!(error.kind(), Kind::Timeout, "{kind}");
            assert!(error.to_string().ends_with("sent nothing for 50ms"), "{error}");
        }
        // A longer one goes before a shorter one, too: nothing ends this call but its answer.
        let server = server(Reply::new().text("late")).await;
        let mut spec = spec(kind, server.base_url());
        spec.connection.idle_timeout = Duration::ZERO;
        let mut request = request();
        request.idle_timeout = Some(Duration::from_secs(60));
        let (events, error) = send(&spec.connect().unwrap(), request).await;
        assert_eq!((text(&events).as_str(), error.is_none()), ("late", true), "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    for kind in crate::api::KINDS {
        let server = FakeModelServer::start(Reply::new()).await.unwrap();
        let (url, port) = (server.base_url(), server.port());
        server.shutdown().await;
        let error = failure(&spec(kind, url).connect().unwrap()).await;
        assert_eq!(error.kind(), Kind::Network);
        assert!(error.to_string().starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")), "{error}");
        assert!(error.hint().unwrap().contains(kind.definition().base_url_variable));
    }
}
