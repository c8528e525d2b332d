//! Native payloads: what was sent and what came back, as far as a request asks for it.

use std::time::Duration;

use robota_core::{ModelEvent, ModelRequest, PayloadKind, ProviderErrorKind as Kind, RawCapture};
use robota_providers::{ProviderKind, RetryPolicy, SecretString, build};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::api::{KEY, provider, request, send, server, spec, text};

fn capturing(raw_capture: RawCapture) -> ModelRequest {
    let mut request = request();
    request.raw_capture = raw_capture;
    request
}

/// The payloads among the events, and the rest.
fn sorted(events: Vec<ModelEvent>) -> (Vec<(PayloadKind, Value)>, Vec<ModelEvent>) {
    let (mut payloads, mut rest) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            ModelEvent::Raw { kind, payload } => payloads.push((kind, payload)),
            event => rest.push(event),
        }
    }
    (payloads, rest)
}

fn kinds(payloads: &[(PayloadKind, Value)]) -> Vec<PayloadKind> {
    payloads.iter().map(|(kind, _)| *kind).collect()
}

/// The data of an event stream: JSON where it is JSON, else a string.
fn data(body: &str) -> Vec<(PayloadKind, Value)> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let value = |data| serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    data.map(|data| (PayloadKind::StreamEvent, value(data))).collect()
}

/// A recorded stream that says `text`.
fn stream(kind: ProviderKind, text: &str) -> String {
    match kind {
        ProviderKind::Anthropic => format!(
            concat!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\"}}}}\n\n",
                ": comment\n\nevent: ping\ndata: {{\"type\":\"ping\"}}\n\n",
                "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"text\":\"{}\",\"odd\":[1.50]}}}}\n\n",
                "event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n",
            ),
            text
        ),
        _ => format!(
            concat!(
                ": comment\n\ndata: {{\"id\":\"m\",\"choices\":[{{\"delta\":{{\"content\":\"{}\",\"odd\":[1.50]}}}}]}}\n\n",
                "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n",
            ),
            text
        ),
    }
}

fn streams(kind: ProviderKind, text: &str) -> Reply {
    Reply::body(200, "text/event-stream", stream(kind, text))
}

#[tokio::test]
async fn each_setting_hands_over_what_it_names_and_changes_nothing_else() {
    for kind in crate::api::KINDS {
        let server = server(Script::from_iter((0..3).map(|_| streams(kind, "hi")))).await;
        let mut spec = spec(kind, server.base_url());
        spec.options.headers = vec![("x-tenant".into(), SecretString::from("tenant-7"))];
        let provider = spec.connect().unwrap();
        let events = stream(kind, "hi");

        let (none, plain) = sorted(send(&provider, capturing(RawCapture::Off)).await.0);
        assert_eq!((none, text(&plain).as_str()), (vec![], "hi"), "{kind}");

        let (answered, rest) = sorted(send(&provider, capturing(RawCapture::Responses)).await.0);
        assert_eq!((&answered, &rest), (&data(&events), &plain), "{kind}");

        let (mut all, rest) = sorted(send(&provider, capturing(RawCapture::Full)).await.0);
        let shown = json!(all.iter().map(|(_, payload)| payload).collect::<Vec<_>>()).to_string();
        assert!(!shown.contains(KEY) && !shown.contains("tenant-7"), "{shown}");
        let body = server.requests()[2].json.clone().unwrap();
        assert_eq!(all.remove(0), (PayloadKind::Request, body), "{kind}");
        assert_eq!((all, rest), (answered, plain), "{kind}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn a_payload_comes_before_the_events_it_means() {
    for kind in crate::api::KINDS {
        let server = server(streams(kind, "hi")).await;
        let (events, _) = send(&provider(kind, &server), capturing(RawCapture::Full)).await;
        let hi = events.iter().position(|event| *event == ModelEvent::TextDelta("hi".into())).unwrap();
        let origin = events[..hi].iter().rev().find_map(|event| match event {
            ModelEvent::Raw { payload, .. } => Some(payload.to_string()),
            _ => None,
        });
        assert!(origin.unwrap().contains("\"hi\""), "{kind}: {events:?}");
        assert!(matches!(&events[0], ModelEvent::Raw { kind: PayloadKind::Request, .. }), "{kind}");
        assert!(matches!(events.last(), Some(ModelEvent::Finish(_))), "{kind}");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_handed_over_before_the_error_it_means() {
    let report = r#"{"error":{"type":"overloaded_error","message":"busy"}}"#;
    let value: Value = serde_json::from_str(report).unwrap();
    let cases = [
        (529, "application/json", report, value.clone(), Kind::Overloaded),
        (200, "application/json", report, value, Kind::Overloaded),
        (200, "application/json", r#"{"content":"hi"}"#, json!({"content": "hi"}), Kind::Protocol),
        (502, "text/html", "<h1>Bad Gateway</h1>", json!("<h1>Bad Gateway</h1>"), Kind::Server),
        (503, "text/plain", "", json!(""), Kind::Overloaded),
    ];
    for kind in crate::api::KINDS {
        for (status, content_type, body, payload, expected) in &cases {
            let server = server(Reply::body(*status, *content_type, *body)).await;
            let (events, error) = send(&provider(kind, &server), capturing(RawCapture::Responses)).await;
            let response = ModelEvent::Raw { kind: PayloadKind::Response, payload: payload.clone() };
            assert_eq!((events, error.unwrap().kind()), (vec![response], *expected), "{kind} {body}");
        }
    }
}

#[tokio::test]
async fn what_arrived_before_a_failure_stays() {
    for kind in crate::api::KINDS {
        let broken = stream(kind, "half").split_inclusive("\n\n").take(4).collect::<String>();
        let broken = match kind {
            ProviderKind::Anthropic => broken,
            _ => broken.split_inclusive("\n\n").take(2).collect(),
        } + "data: <oops>\n\n";
        let server = server(Reply::body(200, "text/event-stream", broken.as_str())).await;
        let (events, error) = send(&provider(kind, &server), capturing(RawCapture::Responses)).await;
        let (payloads, rest) = sorted(events);
        assert_eq!(error.unwrap().kind(), Kind::Protocol, "{kind}");
        assert_eq!((payloads, text(&rest).as_str()), (data(&broken), "half"), "{kind}");
    }
}

#[tokio::test]
async fn a_request_is_handed_over_before_its_answer_comes() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("never").hold_at("silence")).await;
        let cancel = tokio_util::sync::CancellationToken::new();
        let provider = provider(kind, &server);
        let mut stream = robota_core::Provider::stream(&provider, capturing(RawCapture::Full), cancel);
        let first = futures_util::StreamExt::next(&mut stream).await;
        assert!(
            matches!(&first, Some(Ok(ModelEvent::Raw { kind: PayloadKind::Request, .. }))),
            "{kind}: {first:?}"
        );
    }
}

#[tokio::test]
async fn every_attempt_is_handed_over() {
    for kind in crate::api::KINDS {
        let script = Script::new().reply(Reply::error(529, "busy")).reply(streams(kind, "hi"));
        let server = server(script).await;
        let mut spec = spec(kind, server.base_url());
        spec.retry = RetryPolicy { base_delay: Duration::from_millis(1), ..RetryPolicy::default() };
        let (events, _) = send(&*build(spec).unwrap(), capturing(RawCapture::Full)).await;
        let (payloads, rest) = sorted(events);
        let mut expected = vec![PayloadKind::Request, PayloadKind::Response, PayloadKind::Request];
        expected.extend(kinds(&data(&stream(kind, "hi"))));
        assert_eq!(kinds(&payloads), expected, "{kind}");
        assert!(matches!(&rest[0], ModelEvent::Retry { status: Some(529), .. }), "{kind}: {rest:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_corrected_is_handed_over_as_it_was_sent_each_time() {
    let kind = ProviderKind::OpenAi;
    let refusal = Reply::error(400, "Unrecognized request argument supplied: stream_options");
    let server = server(Script::new().reply(refusal).reply(streams(kind, "hi"))).await;
    let (payloads, _) = sorted(send(&provider(kind, &server), capturing(RawCapture::Full)).await.0);
    let sent = server.requests().iter().map(|request| request.json.clone().unwrap()).collect::<Vec<_>>();
    assert_ne!(sent[0], sent[1]);
    assert_eq!((payloads[0].0, &payloads[0].1), (PayloadKind::Request, &sent[0]));
    assert_eq!(payloads[1].0, PayloadKind::Response);
    assert_eq!((payloads[2].0, &payloads[2].1), (PayloadKind::Request, &sent[1]));
}
