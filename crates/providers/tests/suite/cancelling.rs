//! Cancelling ends a call at once and closes the connection.

use futures_util::StreamExt;
use robota_core::{ModelEvent, Provider, ProviderErrorKind};
use robota_testkit::Reply;
use tokio_util::sync::CancellationToken;

use crate::api::{provider, request, server};

#[tokio::test]
async fn a_stream_ends_with_one_error_and_the_server_sees_it_close() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("half").gate("open end").text("never")).await;
        let cancel = CancellationToken::new();
        let mut stream = provider(kind, &server).stream(request(), cancel.clone());
        while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(text))) if text == "half") {}
        server.gate("open end").reached().await;
        cancel.cancel();
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ProviderErrorKind::Cancelled, "{kind}");
        assert!(stream.next().await.is_none());
        // The gate was never opened: the server stopped because nobody listens any more.
        server.wait_idle().await;
    }
}

#[tokio::test]
async fn a_request_that_is_not_answered_yet_can_be_cancelled() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("never").hold_at("silence")).await;
        let cancel = CancellationToken::new();
        let stream = provider(kind, &server).stream(request(), cancel.clone());
        let call = tokio::spawn(stream.collect::<Vec<_>>());
        server.gate("silence").reached().await;
        cancel.cancel();
        let events = call.await.unwrap();
        assert!(
            matches!(&events[..], [Err(error)] if error.kind() == ProviderErrorKind::Cancelled),
            "{events:?}"
        );
        server.wait_idle().await;
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("half").gate("open end").text("never")).await;
        let mut stream = provider(kind, &server).stream(request(), CancellationToken::new());
        while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(_)))) {}
        drop(stream);
        server.wait_idle().await;
    }
}
