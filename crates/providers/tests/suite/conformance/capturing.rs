//! Native payloads are handed over as far as a request asks, and never with a key.

use robota_core::{ModelEvent, ModelRequest, PayloadKind, RawCapture};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::case::{Case, cases};
use super::events::content;
use super::subject::Subject;
use crate::api::{KEY, request};

pub(super) const CASES: &[Case] = cases![
    nothing_is_captured_unless_asked[Http],
    what_the_server_sends_is_captured[Http],
    what_is_sent_is_captured[Http],
    a_refusal_is_captured[Http],
    capturing_changes_nothing_else[Http],
];

fn capturing(raw_capture: RawCapture) -> ModelRequest {
    let mut request = request();
    request.raw_capture = raw_capture;
    request
}

fn payloads(events: &[ModelEvent]) -> Vec<(PayloadKind, Value)> {
    let payloads = events.iter().filter_map(|event| match event {
        ModelEvent::Raw { kind, payload } => Some((*kind, payload.clone())),
        _ => None,
    });
    payloads.collect()
}

fn kinds(events: &[ModelEvent]) -> Vec<PayloadKind> {
    payloads(events).into_iter().map(|(kind, _)| kind).collect()
}

async fn nothing_is_captured_unless_asked(subject: &Subject) {
    assert_eq!(payloads(&subject.plays("hi").await.answer().await), []);
}

async fn what_the_server_sends_is_captured(subject: &Subject) {
    let events = subject.plays("captured-words").await.answer_to(capturing(RawCapture::Responses)).await;
    assert!(
        !kinds(&events).is_empty() && kinds(&events).iter().all(|kind| *kind == PayloadKind::StreamEvent)
    );
    let all =
        json!(payloads(&events).into_iter().map(|(_, payload)| payload).collect::<Vec<_>>()).to_string();
    assert!(all.contains("captured-words"), "{all}");
}

async fn what_is_sent_is_captured(subject: &Subject) {
    let stage = subject
        .plays_with("hi", |spec| {
            spec.options.headers = vec![("x-tenant".into(), "tenant-7".into())];
        })
        .await;
    let events = stage.answer_to(capturing(RawCapture::Full)).await;
    let (kind, payload) = payloads(&events).remove(0);
    assert_eq!((kind, Some(&payload)), (PayloadKind::Request, stage.requests()[0].json.as_ref()));
    let shown = format!("{events:?}");
    assert!(!shown.contains(KEY) && !shown.contains("tenant-7"), "{shown}");
}

async fn a_refusal_is_captured(subject: &Subject) {
    let stage = subject.plays(Reply::error(529, "busy")).await;
    let (events, error) = stage.send(capturing(RawCapture::Responses)).await;
    assert_eq!((kinds(&events), error.unwrap().status()), (vec![PayloadKind::Response], Some(529)));
}

async fn capturing_changes_nothing_else(subject: &Subject) {
    let reply = Reply::new().thinking("Hm", "cHJvb2Y=").text("hi").tool_call("c", "Read", json!({}));
    let script = Script::new().reply(reply.clone()).reply(reply);
    let stage = subject.plays(script).await;
    let plain = stage.answer().await;
    assert_eq!(content(&stage.answer_to(capturing(RawCapture::Full)).await), content(&plain));
}
