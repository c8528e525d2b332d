//! The scripted provider, in process.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use robota_core::{
    Body, FinishReason, Message, MessageRef, ModelEvent, ModelRequest, PayloadKind, Provider,
    ProviderErrorKind, RawCapture, Timestamp, ToolCall, ToolClass, ToolSpec, Usage,
};
use robota_testkit::{Dialect, Reply, Rule, Script, ScriptedProvider};
use serde_json::json;
use tokio_util::sync::CancellationToken;

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("m", messages.into_iter().map(MessageRef::new).collect())
}

fn hi() -> ModelRequest {
    request(vec![Message::user("1", Timestamp::default(), "hi")])
}

async fn collect(
    provider: &ScriptedProvider,
    request: ModelRequest,
) -> (Vec<ModelEvent>, Option<robota_core::ProviderError>) {
    let mut stream = provider.stream(request, CancellationToken::new());
    let mut events = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

#[tokio::test]
async fn a_reply_becomes_model_events() {
    let usage = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
    let reply = Reply::new()
        .thinking(["a", "b"], "sig")
        .text(["c", "d"])
        .tool_call("c1", "Read", ["{\"x\"", ":1}"])
        .tool_call("c2", "Odd", "{half")
        .usage(usage);
    let provider = ScriptedProvider::new(reply);
    let (events, error) = collect(&provider, hi()).await;
    assert!(error.is_none());
    let start =
        |index, id: &str, name: &str| ModelEvent::ToolCallStart { index, id: id.into(), name: name.into() };
    let more = |index, delta: &str| ModelEvent::ToolCallArguments { index, delta: delta.into() };
    let expected = [
        ModelEvent::Started { response_id: Some("scripted_1".into()), model: Some("m".into()) },
        ModelEvent::ThinkingDelta("a".into()),
        ModelEvent::ThinkingDelta("b".into()),
        ModelEvent::ThinkingEnd { signature: Some("sig".into()) },
        ModelEvent::TextDelta("c".into()),
        ModelEvent::TextDelta("d".into()),
        start(0, "c1", "Read"),
        more(0, "{\"x\""),
        more(0, ":1}"),
        ModelEvent::ToolCallEnd { index: 0 },
        start(1, "c2", "Odd"),
        more(1, "{half"),
        ModelEvent::ToolCallEnd { index: 1 },
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::ToolUse),
    ];
    assert_eq!(events, expected);
    assert_eq!(provider.requests()[0].messages[0].text(), "hi");
    provider.assert_clean();
}

#[tokio::test]
async fn failures_become_typed_errors() {
    let script = Script::new()
        .reply(Reply::error(429, "slow down").retry_after(2))
        .reply(Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength))
        .reply(Reply::new().text("half").cut())
        .reply(Reply::new().stream_error("overloaded_error", "full"))
        .reply(Reply::hang_up());
    let provider = ScriptedProvider::new(script);
    let error = collect(&provider, hi()).await.1.unwrap();
    assert_eq!((error.kind(), error.status()), (ProviderErrorKind::RateLimit, Some(429)));
    assert_eq!(
        (error.retry_after(), error.to_string().as_str()),
        (Some(Duration::from_secs(2)), "slow down")
    );
    assert_eq!(collect(&provider, hi()).await.1.unwrap().kind(), ProviderErrorKind::ContextLength);
    let (events, error) = collect(&provider, hi()).await;
    assert_eq!((events.len(), error.unwrap().kind()), (2, ProviderErrorKind::Network));
    assert_eq!(collect(&provider, hi()).await.1.unwrap().kind(), ProviderErrorKind::Overloaded);
    assert_eq!(collect(&provider, hi()).await.1.unwrap().kind(), ProviderErrorKind::Network);
    let exhausted = collect(&provider, hi()).await.1.unwrap();
    assert_eq!(exhausted.to_string(), "the script has no reply for model call 6");
}

#[tokio::test]
async fn a_gate_holds_the_stream_and_honours_the_token() {
    let provider = ScriptedProvider::new(Script::new().reply(Reply::new().text("a").gate("door").text("b")));
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hi(), cancel.clone());
    let cancelled = async {
        provider.gate("door").reached().await;
        cancel.cancel();
    };
    let reading = async {
        let mut items = Vec::new();
        while let Some(item) = stream.next().await {
            items.push(item.map_err(|error| error.kind()));
        }
        items
    };
    let (items, ()) = tokio::join!(reading, cancelled);
    assert_eq!(items[1], Ok(ModelEvent::TextDelta("a".into())));
    assert_eq!(items[2..], [Err(ProviderErrorKind::Cancelled)]);
}

#[tokio::test]
async fn rules_are_checked_in_process_too() {
    let call = ToolCall { id: "c1".into(), name: "Read".into(), arguments: "{half".into() };
    let body = Body::Assistant { content: None, parts: vec![], tool_calls: vec![call], reasoning: vec![] };
    let asked = Message::with_body("2", Timestamp::default(), body);
    let answer = Body::Tool {
        content: String::new(),
        tool_call_id: "c1".into(),
        name: None,
        is_error: false,
        parts: vec![],
    };
    let answered = Message::with_body("3", Timestamp::default(), answer);
    let first = Message::user("1", Timestamp::default(), "hi");

    let provider = ScriptedProvider::new(Script::new().respond_with(|request| {
        assert_eq!(request.dialect, Some(Dialect::InProcess));
        Reply::new().text(format!("{} results", request.tool_results().len()))
    }));
    let (events, _) = collect(&provider, request(vec![first.clone(), asked.clone(), answered])).await;
    assert_eq!(events[1], ModelEvent::TextDelta("1 results".into()));
    provider.assert_clean();

    let error = collect(&provider, request(vec![first, asked])).await.1.unwrap();
    assert_eq!(error.kind(), ProviderErrorKind::InvalidRequest);
    assert_eq!(provider.violations()[0].rule, Rule::PairedCalls);

    let mut twice = hi();
    let tool =
        Arc::new(ToolSpec::new("A", ToolClass::Inspect, "d").with_input_schema(json!({"type": "object"})));
    twice.tools = Arc::new([tool.clone(), tool]);
    let error = collect(&provider, twice).await.1.unwrap();
    assert!(error.to_string().contains("two tools are called `A`"), "{error}");
}

#[tokio::test]
async fn checks_can_be_loosened() {
    let empty = || request(vec![Message::user("1", Timestamp::default(), "")]);
    let lenient = ScriptedProvider::new("a").lenient();
    assert!(collect(&lenient, empty()).await.1.is_none());
    assert_eq!(lenient.violations()[0].rule, Rule::EmptyText);

    let ignoring = ScriptedProvider::new("a").ignore(Rule::EmptyText);
    assert!(collect(&ignoring, empty()).await.1.is_none());
    ignoring.assert_clean();

    let light = ScriptedProvider::new("a").light();
    assert!(collect(&light, empty()).await.1.is_none());
    assert!(light.requests().is_empty() && light.recorded().is_empty());
}

/// What a call with that idle time ends with, and when.
async fn after_silence(reply: Reply, idle: Duration) -> (usize, Option<ProviderErrorKind>, Duration) {
    let begun = tokio::time::Instant::now();
    let mut request = hi();
    request.idle_timeout = Some(idle);
    let (events, error) = collect(&ScriptedProvider::new(reply), request).await;
    (events.len(), error.map(|error| error.kind()), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn silence_longer_than_the_idle_time_ends_the_stream() {
    let idle = Duration::from_secs(10);
    let timed_out = |events| (events, Some(ProviderErrorKind::Timeout), idle);
    assert_eq!(after_silence(Reply::new().text("a").gate("never"), idle).await, timed_out(2));
    assert_eq!(after_silence(Reply::new().text("a").hold_at("never"), idle).await, timed_out(0));
    let in_two = Reply::new().pause_ms(6_000).pause_ms(6_000);
    assert_eq!(after_silence(in_two, idle).await, timed_out(0));

    let lively =
        Reply::new().pause_ms(6_000).ping().pause_ms(6_000).ping().pause_ms(6_000).text("a").pause_ms(6_000);
    let ended = after_silence(lively, idle).await;
    assert_eq!(ended, (4, None, Duration::from_secs(24)));
}

#[tokio::test]
async fn native_payloads_are_handed_over_where_they_are_asked_for() {
    let provider = ScriptedProvider::new(Script::from_iter((0..2).map(|_| Reply::new().raw("x").text("a"))));
    let mut request = hi();
    let without = collect(&provider, request.clone()).await.0;
    request.raw_capture = RawCapture::Responses;
    let mut with = collect(&provider, request).await.0;
    assert_eq!(with.remove(0), ModelEvent::Raw { kind: PayloadKind::StreamEvent, payload: json!("x") });
    assert_eq!(with[1..], without[1..]);
}
