//! Failed calls are tried again, patiently and within limits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use robota_core::{
    Capabilities, FinishReason, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError,
    ProviderErrorKind as Kind, ProviderInfo,
};
use robota_providers::{RetryPolicy, Retrying, build};
use robota_testkit::{Reply, Script};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::api::{request, send, server, spec, text};

/// A policy whose pauses are known.
fn exact() -> RetryPolicy {
    RetryPolicy { jitter: false, ..RetryPolicy::default() }
}

type Attempt = Vec<Result<ModelEvent, ProviderError>>;

/// Plays one attempt after the other.
struct Plays {
    info: ProviderInfo,
    attempts: Mutex<VecDeque<Attempt>>,
}

impl Provider for Plays {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _request: ModelRequest, _cancel: CancellationToken) -> ModelStream {
        let attempt = self.attempts.lock().unwrap().pop_front().expect("one attempt too many");
        stream::iter(attempt).boxed()
    }
}

fn retrying(policy: RetryPolicy, attempts: Vec<Attempt>) -> Retrying {
    let info = ProviderInfo::new("plays", Capabilities::default());
    Retrying::new(Arc::new(Plays { info, attempts: Mutex::new(attempts.into()) }), policy)
}

fn fails(kind: Kind) -> Attempt {
    vec![Err(ProviderError::new(kind, "no").with_status(500))]
}

fn succeeds() -> Attempt {
    vec![Ok(ModelEvent::TextDelta("yes".into())), Ok(ModelEvent::Finish(FinishReason::EndTurn))]
}

/// The pauses announced, in milliseconds.
fn pauses(events: &[ModelEvent]) -> Vec<u64> {
    let pauses = events.iter().filter_map(|event| match event {
        ModelEvent::Retry { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    });
    pauses.collect()
}

#[tokio::test]
async fn a_limited_or_overloaded_service_is_asked_again_over_http() {
    for kind in crate::api::KINDS {
        let script = Script::new()
            .reply(Reply::error(429, "slow down").header("retry-after-ms", "20"))
            .reply(Reply::error(529, "busy").header("retry-after-ms", "10"))
            .reply(Reply::new().text("yes"));
        let server = server(script).await;
        let (events, error) = send(&*build(spec(kind, server.base_url())).unwrap(), request()).await;
        assert!(error.is_none(), "{error:?}");
        let ModelEvent::Retry {
            attempt: 2,
            max_attempts: 5,
            delay_ms: 20,
            reason,
            status: Some(429),
            abandoned: false,
        } = &events[0]
        else {
            panic!("{events:?}");
        };
        assert!(reason.ends_with("(HTTP 429): slow down"), "{reason}");
        assert_eq!((pauses(&events), text(&events).as_str()), (vec![20, 10], "yes"), "{kind}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn a_stream_cut_before_anything_visible_is_repeated_and_one_cut_later_is_not() {
    for kind in crate::api::KINDS {
        let mut spec = spec(kind, "");
        spec.retry = RetryPolicy { base_delay: Duration::from_millis(1), ..exact() };
        let early = server(Script::new().reply(Reply::new().ping().cut()).reply("yes")).await;
        spec.connection.base_url = Some(early.base_url());
        let (events, error) = send(&*build(spec.clone()).unwrap(), request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!((pauses(&events), text(&events).as_str()), (vec![1], "yes"), "{kind}");

        let late = server(Script::new().reply(Reply::new().text("half").cut()).reply("yes")).await;
        spec.connection.base_url = Some(late.base_url());
        let (events, error) = send(&*build(spec).unwrap(), request()).await;
        assert_eq!(error.unwrap().kind(), Kind::Network);
        assert_eq!((pauses(&events), text(&events).as_str()), (vec![], "half"), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_until_the_attempts_are_used_up() {
    let begun = Instant::now();
    let provider = retrying(exact(), (0..5).map(|_| fails(Kind::Server)).collect());
    let (events, error) = send(&provider, request()).await;
    assert_eq!(pauses(&events), [500, 1000, 2000, 4000]);
    assert_eq!(error.unwrap().kind(), Kind::Server);
    assert_eq!(begun.elapsed(), Duration::from_millis(7500));
}

#[tokio::test(start_paused = true)]
async fn jitter_at_most_doubles_a_pause() {
    for _ in 0..20 {
        let provider = retrying(RetryPolicy::default(), vec![fails(Kind::Network), succeeds()]);
        let (events, _) = send(&provider, request()).await;
        assert!(matches!(pauses(&events)[..], [500..=1000]), "{events:?}");
    }
}

#[tokio::test]
async fn what_cannot_pass_is_not_tried_again() {
    for kind in
        [Kind::Authentication, Kind::InvalidRequest, Kind::ContextLength, Kind::Protocol, Kind::NotFound]
    {
        let (events, error) = send(&retrying(exact(), vec![fails(kind)]), request()).await;
        assert_eq!((events, error.map(|error| error.kind())), (vec![], Some(kind)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_time_is_obeyed_up_to_a_limit() {
    let asks = |seconds| {
        let error =
            ProviderError::new(Kind::RateLimit, "later").with_retry_after(Duration::from_secs(seconds));
        vec![Err(error)]
    };
    let (events, error) = send(&retrying(exact(), vec![asks(120), succeeds()]), request()).await;
    assert_eq!((pauses(&events), error.is_none()), (vec![120_000], true));

    let (events, error) = send(&retrying(exact(), vec![asks(121)]), request()).await;
    assert_eq!(pauses(&events), [] as [u64; 0]);
    let hint = error.unwrap().hint().unwrap().to_owned();
    assert_eq!(
        hint,
        "the service asks to wait 121 s, more than the 120 s that are waited unasked; try again then"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_repeated_after_something_visible() {
    let visible = [
        ModelEvent::TextDelta("t".into()),
        ModelEvent::ThinkingDelta("t".into()),
        ModelEvent::ToolCallStart { index: 0, id: "c".into(), name: "Read".into() },
    ];
    for event in visible {
        let attempt = vec![Ok(event.clone()), Err(ProviderError::new(Kind::Network, "cut"))];
        let (events, error) = send(&retrying(exact(), vec![attempt]), request()).await;
        assert_eq!((events, error.map(|error| error.kind())), (vec![event], Some(Kind::Network)));
    }
    let started = ModelEvent::Started { response_id: None, model: None };
    let attempt = vec![Ok(started), Err(ProviderError::new(Kind::Network, "cut"))];
    let (events, error) = send(&retrying(exact(), vec![attempt, succeeds()]), request()).await;
    assert_eq!((text(&events).as_str(), error.is_none()), ("yes", true));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_pause_at_once() {
    let begun = Instant::now();
    let cancel = CancellationToken::new();
    let mut stream = retrying(exact(), vec![fails(Kind::Overloaded)]).stream(request(), cancel.clone());
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Retry { .. }))));
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().kind(), Kind::Cancelled);
    assert!(stream.next().await.is_none());
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
