//! Failures that may pass are tried again, in the open.

use std::time::Duration;

use robota_core::{ModelEvent, ProviderError, ProviderErrorKind as Kind};
use robota_providers::{RetryPolicy, build};
use robota_testkit::{FakeModelServer, Reply, Script};

use super::case::{Case, cases};
use super::events::{finish, text};
use super::subject::Subject;
use crate::api::{request, send, server};

pub(super) const CASES: &[Case] = cases![
    a_limited_service_is_asked_again[Http],
    an_overloaded_or_broken_service_is_asked_again[Http],
    a_connection_that_broke_is_made_again[Http],
    a_stream_that_broke_before_any_text_is_repeated[Http],
    an_error_in_the_stream_before_any_text_is_repeated[Http],
    what_cannot_pass_is_not_tried_again[Http],
    attempts_come_to_an_end[Http],
];

/// What a call with retries gives, and the server that was asked.
async fn call(
    subject: &Subject,
    script: Script,
) -> (Vec<ModelEvent>, Option<ProviderError>, FakeModelServer) {
    let server = server(script).await;
    let mut spec = subject.spec(server.base_url());
    let (base_delay, max_attempts) = (Duration::from_millis(1), 3);
    spec.retry = RetryPolicy { base_delay, max_attempts, jitter: false, ..RetryPolicy::default() };
    let (events, error) = send(&*build(spec).unwrap(), request()).await;
    (events, error, server)
}

/// The attempts that were announced: number, of how many, after which status.
fn retries(events: &[ModelEvent]) -> Vec<(u32, u32, Option<u16>)> {
    let retries = events.iter().filter_map(|event| match event {
        ModelEvent::Retry { attempt, max_attempts, status, .. } => Some((*attempt, *max_attempts, *status)),
        _ => None,
    });
    retries.collect()
}

/// Asserts that the second attempt gives the answer, after one that ended with `status`.
async fn second_time(subject: &Subject, first: Reply, status: Option<u16>) {
    let (events, error, server) = call(subject, Script::new().reply(first).reply("yes")).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((retries(&events), text(&events).as_str()), (vec![(2, 3, status)], "yes"));
    finish(&events);
    server.assert_clean();
}

async fn a_limited_service_is_asked_again(subject: &Subject) {
    let script =
        Script::new().reply(Reply::error(429, "slow down").header("retry-after-ms", "20")).reply("yes");
    let (events, error, _server) = call(subject, script).await;
    assert!(error.is_none(), "{error:?}");
    let Some(ModelEvent::Retry { delay_ms: 20, reason, status: Some(429), .. }) =
        events.iter().find(|event| matches!(event, ModelEvent::Retry { .. }))
    else {
        panic!("{events:?}");
    };
    assert!(reason.contains("slow down"), "{reason}");
    assert_eq!(text(&events), "yes");
}

async fn an_overloaded_or_broken_service_is_asked_again(subject: &Subject) {
    for status in [500, 502, 503, 529] {
        second_time(subject, Reply::error(status, "not now"), Some(status)).await;
    }
}

async fn a_connection_that_broke_is_made_again(subject: &Subject) {
    second_time(subject, Reply::hang_up(), None).await;
}

async fn a_stream_that_broke_before_any_text_is_repeated(subject: &Subject) {
    second_time(subject, Reply::new().ping().cut(), None).await;
}

async fn an_error_in_the_stream_before_any_text_is_repeated(subject: &Subject) {
    let server =
        call(subject, Script::new().reply(Reply::new().stream_error("overloaded_error", "no")).reply("yes"));
    let (events, error, _server) = server.await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((retries(&events).len(), text(&events).as_str()), (1, "yes"));
}

async fn what_cannot_pass_is_not_tried_again(subject: &Subject) {
    for (status, kind) in [(400, Kind::InvalidRequest), (401, Kind::Authentication), (403, Kind::Permission)]
    {
        let script = Script::new().reply(Reply::error(status, "no")).reply("never");
        let (events, error, server) = call(subject, script).await;
        assert_eq!((retries(&events), error.map(|error| error.kind())), (vec![], Some(kind)));
        assert_eq!(server.requests().len(), 1);
    }
}

async fn attempts_come_to_an_end(subject: &Subject) {
    let script = (0..5).map(|_| Reply::error(503, "not now")).collect::<Script>();
    let (events, error, server) = call(subject, script).await;
    assert_eq!(retries(&events), [(2, 3, Some(503)), (3, 3, Some(503))]);
    assert_eq!((error.unwrap().kind(), server.requests().len()), (Kind::Overloaded, 3));
}
