//! Connections: compressed, shared, and of either version of HTTP.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use futures_util::future::join_all;
use robota_core::{Message, ModelEvent, ModelRequest, ProviderErrorKind, Timestamp};
use robota_testkit::{Reply, Script};
use tokio_util::sync::CancellationToken;

use super::case::{Case, cases};
use super::events::{content, text};
use super::subject::Subject;
use crate::api::{KEY, request};

pub(super) const CASES: &[Case] = cases![
    compressed_answers[Http],
    compressed_answers_in_chunks_of_one_byte[Http, OwnWire],
    compressed_text_is_handed_on_as_it_comes[Http],
    http_2[Http],
    http_2_cut_within_an_answer[Http],
    calls_in_a_row_share_a_connection[Http],
    twenty_calls_at_once_do_not_mix[OwnWire],
    twenty_calls_over_one_connection_do_not_mix[Http, OwnWire],
    the_headers_of_a_request[Http],
];

async fn compressed_answers(subject: &Subject) {
    let events = subject.plays(Reply::new().text("Grüße ".repeat(1000)).gzip()).await.answer().await;
    assert_eq!(text(&events), "Grüße ".repeat(1000));
}

async fn compressed_answers_in_chunks_of_one_byte(subject: &Subject) {
    let reply = Reply::new().thinking("Hm", "cHJvb2Y=").text(["Grü", "ße"]);
    let plain = subject.plays(reply.clone()).await.answer().await;
    let compressed = subject.plays(reply.gzip().chunk_bytes(1)).await.answer().await;
    assert_eq!(content(&compressed), content(&plain));
}

async fn compressed_text_is_handed_on_as_it_comes(subject: &Subject) {
    let stage = subject.plays(Reply::new().text("now ").gate("later").text("later").gzip()).await;
    let mut stream = stage.provider.stream(request(), CancellationToken::new());
    while !matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(text))) if text.starts_with("now")) {}
    stage.gate("later").open();
    let rest = stream.map(Result::unwrap).collect::<Vec<_>>().await;
    assert!(text(&rest).ends_with("later"), "{rest:?}");
}

async fn http_2(subject: &Subject) {
    let script = Script::from_iter(["one", "two"]);
    let stage = subject.plays_with(script, |spec| spec.connection.http2_prior_knowledge = true).await;
    assert_eq!(text(&stage.answer().await), "one");
    assert_eq!(text(&stage.answer_to(asks("another")).await), "two");
    assert_eq!(connections(&stage), [1, 1]);
}

async fn http_2_cut_within_an_answer(subject: &Subject) {
    let reply = Reply::new().text("half").cut();
    let stage = subject.plays_with(reply, |spec| spec.connection.http2_prior_knowledge = true).await;
    let (events, error) = stage.call().await;
    assert_eq!(
        (text(&events).as_str(), error.map(|error| error.kind())),
        ("half", Some(ProviderErrorKind::Network))
    );
}

fn asks(question: &str) -> ModelRequest {
    let mut request = request();
    request.messages = vec![Message::user("u", Timestamp::default(), question).into()];
    request
}

fn connections(stage: &super::stage::Stage) -> Vec<usize> {
    stage.requests().iter().map(|request| request.connection).collect()
}

async fn calls_in_a_row_share_a_connection(subject: &Subject) {
    let stage = subject.plays(answers()).await;
    for number in 0..10 {
        stage.answer_to(asks(&number.to_string())).await;
    }
    // A call that begins while the end of the one before is still on its way opens another one.
    let connections = connections(&stage).into_iter().collect::<BTreeSet<_>>();
    assert!(connections.len() <= 5, "ten calls in a row used {} connections", connections.len());
}

async fn twenty_at_once(stage: &super::stage::Stage) {
    let calls = (0..20).map(|number| {
        let question = format!("question {number}");
        async move {
            let answer = text(&stage.answer_to(asks(&question)).await);
            assert_eq!(answer, format!("answer to {question}").repeat(50));
        }
    });
    join_all(calls).await;
    assert_eq!(stage.requests().len(), 20);
}

fn answers() -> Script {
    Script::new().respond_with(|request| {
        let answer = format!("answer to {}", request.last_user_text());
        Reply::new().text(vec![answer; 50]).chunk_bytes(97)
    })
}

async fn twenty_calls_at_once_do_not_mix(subject: &Subject) {
    twenty_at_once(&subject.plays(answers()).await).await;
}

async fn twenty_calls_over_one_connection_do_not_mix(subject: &Subject) {
    let stage = subject.plays_with(answers(), |spec| spec.connection.http2_prior_knowledge = true).await;
    // The first call opens the connection that all others find.
    assert!(text(&stage.answer_to(asks("first")).await).starts_with("answer to first"));
    let calls = (0..20).map(|number| {
        let stage = &stage;
        async move { text(&stage.answer_to(asks(&format!("q{number}"))).await) }
    });
    for (number, answer) in join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer, format!("answer to q{number}").repeat(50));
    }
    assert_eq!(connections(&stage), [1; 21]);
}

async fn the_headers_of_a_request(subject: &Subject) {
    let stage = subject.plays("hi").await;
    stage.answer().await;
    let sent = stage.requests()[0].clone();
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert!(
        sent.header("user-agent").is_some_and(|agent| agent.starts_with("robota/")),
        "{:?}",
        sent.headers
    );
    assert!(
        sent.header("accept-encoding").is_some_and(|accepted| accepted.contains("gzip")),
        "{:?}",
        sent.headers
    );
    let carriers = sent.headers.values().filter(|value| value.contains(KEY)).count();
    assert_eq!(carriers, 1, "the key stands in one header: {:?}", sent.headers.keys());
    assert!(!format!("{:?} {:?}", sent.path, sent.query).contains(KEY));
    assert!(!format!("{:?}", subject.connect(stage.base_url())).contains(KEY));
}
