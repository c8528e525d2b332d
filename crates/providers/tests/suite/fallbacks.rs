//! Other models are asked when one does not answer, and dead endpoints are left alone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use robota_core::{
    Capabilities, FinishReason, ModelEvent, ModelRequest, ModelStream, Provider, ProviderError,
    ProviderErrorKind as Kind, ProviderInfo,
};
use robota_providers::{
    CircuitBreaker, CircuitPolicy, Fallback, FallbackPolicy, ProviderKind, RetryPolicy, build,
};
use robota_testkit::{Reply, Script};
use tokio::time::advance;
use tokio_util::sync::CancellationToken;

use crate::api::{request, send, server, spec, text};

/// How one call goes: well, or with this failure after this text.
type Outcome = Result<&'static str, (&'static str, Kind)>;

/// Answers as it is told, and notes the models that are asked for.
struct Told {
    info: ProviderInfo,
    outcomes: Mutex<VecDeque<Outcome>>,
    asked: Mutex<Vec<String>>,
}

fn told(id: &str, outcomes: impl IntoIterator<Item = Outcome>) -> Arc<Told> {
    let info = ProviderInfo::new(id, Capabilities::default());
    Arc::new(Told { info, outcomes: Mutex::new(outcomes.into_iter().collect()), asked: Mutex::default() })
}

impl Told {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Provider for Told {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> ModelStream {
        self.asked.lock().unwrap().push(request.model.to_string());
        let said = |text: &str| (!text.is_empty()).then(|| Ok(ModelEvent::TextDelta(text.into())));
        let outcome = self.outcomes.lock().unwrap().pop_front().expect("one call too many");
        let (text, end) = match outcome {
            Ok(text) => (text, Ok(ModelEvent::Finish(FinishReason::EndTurn))),
            Err((text, kind)) => (text, Err(ProviderError::new(kind, "no"))),
        };
        stream::iter(said(text).into_iter().chain([end])).boxed()
    }
}

/// Provider, model and abandonment of each switch.
fn switches(events: &[ModelEvent]) -> Vec<(&str, &str, bool)> {
    let switches = events.iter().filter_map(|event| match event {
        ModelEvent::Fallback { provider, model, abandoned, .. } => Some((&**provider, &**model, *abandoned)),
        _ => None,
    });
    switches.collect()
}

fn fallback(first: &Arc<Told>, others: &[(&Arc<Told>, &str)]) -> Fallback {
    let others =
        others.iter().map(|(other, model)| (Arc::clone(other) as Arc<dyn Provider>, (*model).into()));
    Fallback::new(
        Arc::clone(first) as Arc<dyn Provider>,
        others.collect::<Vec<_>>(),
        FallbackPolicy::default(),
    )
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_for_a_while_and_then_the_first_one_is_asked_again() {
    let first =
        told("a", [Err(("", Kind::Overloaded)), Err(("", Kind::Overloaded)), Ok("back"), Ok("still")]);
    let second = told("b", [Ok("one"), Ok("two"), Ok("three")]);
    let provider = fallback(&first, &[(&second, "m-2")]);
    let mut answers = Vec::new();
    for pause in [0, 299, 2, 301, 0] {
        advance(Duration::from_secs(pause)).await;
        let (events, error) = send(&provider, request()).await;
        assert!(error.is_none(), "{error:?}");
        answers.push((text(&events), switches(&events).len()));
    }
    let expected = [("one", 1), ("two", 1), ("three", 1), ("back", 0), ("still", 0)];
    assert_eq!(answers, expected.map(|(text, switches)| (text.to_owned(), switches)));
    assert_eq!(first.asked(), ["model-1"; 4]);
    assert_eq!(second.asked(), ["m-2"; 3]);
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_say_nothing_against_the_request_are_passed_on() {
    for kind in
        [Kind::Overloaded, Kind::RateLimit, Kind::Server, Kind::NotFound, Kind::Timeout, Kind::Network]
    {
        let provider = fallback(&told("a", [Err(("half", kind))]), &[(&told("b", [Ok("yes")]), "m-2")]);
        let (events, error) = send(&provider, request()).await;
        assert!(error.is_none(), "{kind:?}: {error:?}");
        assert_eq!(
            (text(&events).as_str(), switches(&events)),
            ("halfyes", vec![("b", "m-2", true)]),
            "{kind:?}"
        );
    }
    for kind in [Kind::Authentication, Kind::InvalidRequest, Kind::ContextLength, Kind::Cancelled] {
        let provider = fallback(&told("a", [Err(("", kind))]), &[(&told("b", []), "m-2")]);
        let (events, error) = send(&provider, request()).await;
        assert_eq!((events, error.map(|error| error.kind())), (vec![], Some(kind)));
    }
}

#[tokio::test(start_paused = true)]
async fn everyone_is_asked_once_and_the_last_failure_goes_up() {
    let first = told("a", [Err(("", Kind::Overloaded)), Err(("", Kind::Server))]);
    let (second, third) =
        (told("b", [Err(("", Kind::Network)), Ok("b")]), told("c", [Err(("", Kind::RateLimit)); 2]));
    let provider = fallback(&first, &[(&second, "m-2"), (&third, "m-3"), (&first, "model-1")]);
    let (events, error) = send(&provider, request()).await;
    assert_eq!(switches(&events), [("b", "m-2", false), ("c", "m-3", false)]);
    assert_eq!(error.unwrap().kind(), Kind::RateLimit);
    // Begins with the one that was asked last, and comes round to the others.
    let (events, error) = send(&provider, request()).await;
    assert_eq!(switches(&events), [("c", "m-3", false), ("a", "model-1", false), ("b", "m-2", false)]);
    assert_eq!((text(&events).as_str(), error.is_none()), ("b", true));
}

#[tokio::test]
async fn models_of_the_same_endpoint_are_asked_over_http() {
    for kind in crate::api::KINDS {
        let server = server(Script::new().reply(Reply::error(404, "model not found")).reply("yes")).await;
        let mut spec = spec(kind, server.base_url());
        spec.fallback_models = vec!["model-2".into()];
        let (events, error) = send(&*build(spec).unwrap(), request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(switches(&events), [(kind.definition().kind, "model-2", false)]);
        let models: Vec<_> =
            server.requests().iter().map(|request| request.json.clone().unwrap()["model"].clone()).collect();
        assert_eq!((models, text(&events).as_str()), (vec!["model-1".into(), "model-2".into()], "yes"));
    }
}

fn breaker(outcomes: impl IntoIterator<Item = Outcome>) -> (Arc<Told>, CircuitBreaker) {
    let inner = told("a", outcomes);
    (Arc::clone(&inner), CircuitBreaker::new(inner, CircuitPolicy::default()))
}

async fn fails(provider: &CircuitBreaker) -> ProviderError {
    send(provider, request()).await.1.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_dead_endpoint_is_left_alone_until_one_call_has_found_it_alive() {
    let dead = [Err(("", Kind::Network)); 6];
    let (inner, provider) = breaker(dead.into_iter().chain([Ok("yes"), Ok("again")]));
    for _ in 0..5 {
        assert!(fails(&provider.clone()).await.is_retryable());
        advance(Duration::from_secs(2)).await;
    }
    let error = fails(&provider).await;
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Network, false));
    assert_eq!(error.to_string(), "not called: there has been no connection for 10 s: no");
    let hint = "the service is called again in 28 s; check the network and its address";
    assert_eq!(error.hint(), Some(hint));
    assert_eq!(inner.asked().len(), 5);

    // One call looks, the others do not wait for it.
    advance(Duration::from_secs(28)).await;
    let probe = provider.stream(request(), CancellationToken::new());
    let waiting = fails(&provider).await;
    assert_eq!(waiting.hint(), Some("another call is finding out whether the service is back"));
    assert_eq!(probe.collect::<Vec<_>>().await.len(), 1);
    assert!(!fails(&provider).await.is_retryable());
    assert_eq!(inner.asked().len(), 1);

    // A call that is dropped before it has shown anything leaves the next one to look.
    advance(Duration::from_secs(30)).await;
    drop(provider.stream(request(), CancellationToken::new()));
    let (events, error) = send(&provider, request()).await;
    assert!(error.is_none() && text(&events) == "again", "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn only_calls_without_a_connection_in_a_short_time_and_in_a_row_count() {
    let no = || Err(("", Kind::Network));
    let (_, provider) =
        breaker([no(), no(), no(), no(), Err(("", Kind::Server)), no(), no(), no(), no(), Ok("yes")]);
    for _ in 0..9 {
        fails(&provider).await;
    }
    assert!(send(&provider, request()).await.1.is_none());
    let (_, provider) = breaker((0..8).map(|_| no()).chain([Err(("half", Kind::Network)), Ok("yes")]));
    for _ in 0..8 {
        assert!(fails(&provider).await.is_retryable());
        advance(Duration::from_secs(20)).await;
    }
    assert!(fails(&provider).await.is_retryable());
    assert!(send(&provider, request()).await.1.is_none());
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_called_five_times() {
    let mut spec = spec(ProviderKind::OpenAi, "http://127.0.0.1:1/v1");
    spec.retry =
        RetryPolicy { max_attempts: 9, base_delay: Duration::from_millis(1), ..RetryPolicy::default() };
    let provider = build(spec).unwrap();
    let (events, error) = send(&*provider, request()).await;
    assert_eq!(events.len(), 5);
    let error = error.unwrap().to_string();
    assert!(
        error.starts_with("not called: there has been no connection for 0 s: cannot connect to 127.0.0.1:1"),
        "{error}"
    );
}
