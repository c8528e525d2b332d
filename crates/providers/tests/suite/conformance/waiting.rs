//! Nothing is waited for without end, and whoever stops waiting is obeyed at once.

use std::time::Duration;

use futures_util::StreamExt;
use robota_core::{ModelEvent, ModelRequest, ProviderErrorKind as Kind};
use robota_testkit::Reply;
use tokio_util::sync::CancellationToken;

use super::case::{Case, cases};
use super::events::text;
use super::stage::Stage;
use super::subject::Subject;
use crate::api::request;

pub(super) const CASES: &[Case] = cases![
    silence_before_the_answer[Waiting],
    silence_within_the_answer[Waiting],
    silence_after_the_answer[Http],
    any_byte_ends_the_silence[Waiting, OwnWire],
    a_call_that_is_cancelled_before_it_is_made[Waiting],
    a_call_that_is_cancelled_before_its_answer[Waiting],
    a_call_that_is_cancelled_within_its_answer[Waiting],
    a_stream_that_is_dropped[Waiting],
    text_is_handed_on_as_it_comes[Waiting],
];

fn impatient(millis: u64) -> ModelRequest {
    let mut request = request();
    request.idle_timeout = Some(Duration::from_millis(millis));
    request
}

async fn silence_before_the_answer(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("never").hold_at("gate")).await;
    let (events, error) = stage.send(impatient(50)).await;
    let error = error.unwrap();
    assert!(events.is_empty() && error.kind() == Kind::Timeout && error.is_retryable(), "{error:?}");
}

async fn silence_within_the_answer(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("half").gate("gate")).await;
    let (events, error) = stage.send(impatient(100)).await;
    assert_eq!((text(&events).as_str(), error.unwrap().kind()), ("half", Kind::Timeout));
}

async fn silence_after_the_answer(subject: &Subject) {
    // The server never closes the body; the answer is complete all the same.
    let recording = super::recording::Recording::of(subject, Reply::new().text("done")).await;
    let stage = subject.plays(Reply::new().raw(recording.text.as_bytes()).gate("gate")).await;
    let (events, error) = stage.send(impatient(30_000)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&events), "done");
}

async fn any_byte_ends_the_silence(subject: &Subject) {
    let reply = (0..4).fold(Reply::new().text("slow"), |reply, _| reply.pause_ms(500).raw(":\n\n"));
    let (events, error) = subject.plays(reply).await.send(impatient(1_500)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&events), "slow");
}

/// The error of a call that is cancelled when `until` says so.
async fn cancelled(stage: &Stage, until: impl Future<Output = ()>) -> Vec<ModelEvent> {
    let cancel = CancellationToken::new();
    let stream = stage.provider.stream(request(), cancel.clone());
    let call = tokio::spawn(stream.collect::<Vec<_>>());
    until.await;
    cancel.cancel();
    let mut events = call.await.unwrap();
    let error = events.pop().unwrap().unwrap_err();
    assert!(error.kind() == Kind::Cancelled && !error.is_retryable(), "{error:?}");
    stage.wait_idle().await;
    events.into_iter().map(Result::unwrap).collect()
}

async fn a_call_that_is_cancelled_before_it_is_made(subject: &Subject) {
    let stage = subject.plays("never").await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let events = stage.provider.stream(request(), cancel).collect::<Vec<_>>().await;
    assert!(matches!(&events[..], [Err(error)] if error.kind() == Kind::Cancelled), "{events:?}");
    assert!(!subject.has_http() || stage.requests().is_empty());
}

async fn a_call_that_is_cancelled_before_its_answer(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("never").hold_at("silence")).await;
    let gate = stage.gate("silence");
    assert_eq!(cancelled(&stage, gate.reached()).await, []);
}

async fn a_call_that_is_cancelled_within_its_answer(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("half").gate("open end").text("never")).await;
    let gate = stage.gate("open end");
    let said = text(&cancelled(&stage, gate.reached()).await);
    // What is on its way when the token fires may be lost.
    assert!(said.is_empty() || said == "half", "{said}");
}

async fn a_stream_that_is_dropped(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("half").gate("open end").text("never")).await;
    let mut stream = stage.provider.stream(request(), CancellationToken::new());
    while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(_)))) {}
    drop(stream);
    // The gate was never opened: the server stops because nobody listens any more.
    stage.wait_idle().await;
}

async fn text_is_handed_on_as_it_comes(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("now ").gate("later").text("later")).await;
    let mut stream = stage.provider.stream(request(), CancellationToken::new());
    while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(text))) if text.starts_with("now")) {}
    stage.gate("later").open();
    let rest = stream.map(Result::unwrap).collect::<Vec<_>>().await;
    assert!(text(&rest).ends_with("later"), "{rest:?}");
}
