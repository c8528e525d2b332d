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

/// Never says anything.
struct Silent(ProviderInfo);

impl Default for Silent {
    fn default() -> Self {
        Self(ProviderInfo::new("silent", Capabilities::default()))
    }
}

impl Provider for Silent {
    fn info(&self) -> &ProviderInfo {
        &self.0
    }

    fn stream(&self, _request: ModelRequest, _cancel: CancellationToken) -> ModelStream {
        stream::pending().boxed()
    }
}

/// How often something that was given out became void.
fn abandoned(events: &[ModelEvent]) -> usize {
    events.iter().filter(|event| matches!(event, ModelEvent::Retry { abandoned: true, .. })).count()
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
async fn a_stream_that_is_cut_begins_anew_and_says_what_is_void() {
    for kind in crate::api::KINDS {
        let mut spec = spec(kind, "");
        spec.retry = RetryPolicy { base_delay: Duration::from_millis(1), ..exact() };
        let early = server(Script::new().reply(Reply::new().ping().cut()).reply("yes")).await;
        spec.connection.base_url = Some(early.base_url());
        let (events, error) = send(&*build(spec.clone()).unwrap(), request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            (pauses(&events), text(&events).as_str(), abandoned(&events)),
            (vec![1], "yes", 0),
            "{kind}"
        );

        let script = || Script::new().reply(Reply::new().text("half").cut()).reply("yes");
        let late = server(script()).await;
        spec.connection.base_url = Some(late.base_url());
        let (events, error) = send(&*build(spec.clone()).unwrap(), request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!((pauses(&events), abandoned(&events)), (vec![1], 1), "{kind}");
        assert_eq!(text(&events), "halfyes");

        let kept = server(script()).await;
        spec.connection.base_url = Some(kept.base_url());
        spec.retry.restart_cut_streams = false;
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
async fn what_a_user_may_have_seen_is_void_once_and_stays_when_attempts_are_used_up() {
    let cut = || Err(ProviderError::new(Kind::Network, "cut"));
    let visible = [
        ModelEvent::TextDelta("t".into()),
        ModelEvent::ThinkingDelta("t".into()),
        ModelEvent::ToolCallStart { index: 0, id: "c".into(), name: "Read".into() },
    ];
    for event in visible {
        let policy = RetryPolicy { max_attempts: 2, ..exact() };
        let (events, error) = send(
            &retrying(policy, vec![vec![Ok(event.clone()), cut()], vec![Ok(event.clone()), cut()]]),
            request(),
        )
        .await;
        assert_eq!((events.len(), abandoned(&events)), (3, 1), "{events:?}");
        assert_eq!((&events[2], error.map(|error| error.kind())), (&event, Some(Kind::Network)));
    }
    let started = ModelEvent::Started { response_id: None, model: None };
    let (events, error) =
        send(&retrying(exact(), vec![vec![Ok(started), cut()], succeeds()]), request()).await;
    assert_eq!((text(&events).as_str(), abandoned(&events), error.is_none()), ("yes", 0, true));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_which_the_provider_ran_tools_of_its_own_begins_anew_only_once() {
    let searched = || {
        vec![
            Ok(ModelEvent::ServerTool { tool: "web_search".into(), query: "q".into() }),
            Err(ProviderError::new(Kind::Overloaded, "cut")),
        ]
    };
    let (events, error) = send(&retrying(exact(), vec![searched(), searched()]), request()).await;
    assert_eq!((pauses(&events).len(), error.map(|error| error.kind())), (1, Some(Kind::Overloaded)));
    let (events, error) = send(&retrying(exact(), vec![searched(), succeeds()]), request()).await;
    assert_eq!((text(&events).as_str(), error.is_none()), ("yes", true));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_whether_to_try_again_is_obeyed() {
    let said = |kind, retryable| vec![Err(ProviderError::new(kind, "no").with_retryable(retryable))];
    let (events, error) = send(&retrying(exact(), vec![said(Kind::Server, false)]), request()).await;
    assert_eq!((events, error.is_some()), (vec![], true));
    let attempts = vec![said(Kind::InvalidRequest, true), succeeds()];
    let (events, error) = send(&retrying(exact(), attempts), request()).await;
    assert_eq!((text(&events).as_str(), error.is_none()), ("yes", true));
}

#[tokio::test]
async fn headers_that_say_no_are_obeyed_over_http() {
    for kind in crate::api::KINDS {
        let no = Reply::error(500, "broken").header("x-should-retry", "false");
        let server = server(Script::new().reply(no)).await;
        let (events, error) = send(&*build(spec(kind, server.base_url())).unwrap(), request()).await;
        assert_eq!((events, error.map(|error| error.kind())), (vec![], Some(Kind::Server)), "{kind}");
        let limited = Reply::error(429, "slow down").header("retry-after", "400");
        let server = crate::api::server(Script::new().reply(limited)).await;
        let error = crate::api::failure(&crate::api::provider(kind, &server)).await;
        assert_eq!(error.hint(), Some("the service takes requests again in 6 min 40 s"));
    }
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_end_at_the_deadline() {
    let policy = RetryPolicy { deadline: Some(Duration::from_secs(2)), ..exact() };
    let begun = Instant::now();
    let (events, error) =
        send(&retrying(policy, (0..3).map(|_| fails(Kind::Server)).collect()), request()).await;
    let error = error.unwrap();
    // The third pause would end after it.
    assert_eq!((pauses(&events), error.kind()), (vec![500, 1000], Kind::Server));
    assert_eq!(error.hint(), Some("there was no time for another attempt: a call may take 2s in all"));
    assert_eq!(begun.elapsed(), Duration::from_millis(1500));

    let begun = Instant::now();
    let (events, error) = send(&Retrying::new(Arc::new(Silent::default()), policy), request()).await;
    let error = error.unwrap();
    assert_eq!((events, error.kind(), error.is_retryable()), (vec![], Kind::Timeout, false));
    assert_eq!(error.to_string(), "the model call was given up in attempt 1: it took more than 2s in all");
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
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
