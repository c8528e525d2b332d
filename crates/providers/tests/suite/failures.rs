//! Whatever goes wrong is a typed error that says what happened and what to do.

use std::time::Duration;

use robota_core::ProviderErrorKind as Kind;
use robota_providers::ProviderKind;
use robota_testkit::Reply;

use crate::api::{KEY, call, failure, provider, request, send, server, spec, text};

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
async fn the_longer_idle_time_of_a_request_goes_before_that_of_the_connection() {
    for kind in crate::api::KINDS {
        // Nothing ends this call but its answer.
        let server = server(Reply::new().text("late")).await;
        let mut spec = spec(kind, server.base_url());
        spec.connection.idle_timeout = Duration::ZERO;
        let mut request = request();
        request.idle_timeout = Some(Duration::from_secs(60));
        let (events, error) = send(&spec.connect().unwrap(), request).await;
        assert_eq!((text(&events).as_str(), error.is_none()), ("late", true), "{kind}: {error:?}");
    }
}
