//! Turns that go well, fail, and are interrupted.

use robota_core::{ErrorKind, EventKind, FinishReason, ModelEvent, ProviderErrorKind, TurnEnd, Usage};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::bench::{Bench, echo};

#[tokio::test]
async fn a_turn_calls_tools_until_the_model_is_done() {
    let usage = |input, output| Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
    let bench = Bench::new(
        Script::new()
            .reply(
                Reply::new()
                    .text("Looking.")
                    .tool_call("c1", "Echo", json!({"word": "hi"}))
                    .usage(usage(10, 5)),
            )
            .reply(Reply::new().text("It says hi.").usage(usage(20, 6))),
    )
    .tools([echo("Echo")]);
    let report = bench.run("What does it say?").await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::Completed);
    assert_eq!((report.text.as_str(), report.rounds), ("It says hi.", 2));
    assert_eq!(report.usage, usage(30, 11));
    let transcript =
        ["user: What does it say?", "assistant: Looking. [Echo]", "tool: hi", "assistant: It says hi."];
    assert_eq!(bench.transcript(), transcript);
    let names = [
        "history_mutation",
        "pre_run",
        "context",
        "provider_request",
        "provider_response_normalized",
        "history_mutation",
        "context",
        "tool_batch_started",
        "tool_execution_request",
        "tool_execution_result",
        "history_mutation",
        "tool_message_committed",
        "provider_request",
        "provider_response_normalized",
        "history_mutation",
        "context",
    ];
    assert_eq!(bench.recorder.durable_names(), names);
    assert_eq!(bench.recorder.text(), "Looking.It says hi.");
}

#[tokio::test]
async fn a_failure_keeps_what_was_streamed_and_the_next_turn_goes_on() {
    let bench = Bench::new(
        Script::new()
            .reply(Reply::new().text("Half an ans").cut())
            .reply(Reply::error(401, "invalid key"))
            .reply(Reply::new().text("Here again.")),
    );
    let report = bench.run("one").await;
    let error = report.outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Provider(ProviderErrorKind::Network));
    assert_eq!(report.text, "Half an ans");
    let error = bench.run("two").await.outcome.unwrap_err();
    assert_eq!(error.code(), "AUTHENTICATION_ERROR");
    assert_eq!(error.provider_error().and_then(|cause| cause.status()), Some(401));
    assert_eq!(bench.run("three").await.outcome.unwrap(), TurnEnd::Completed);
    let transcript =
        ["user: one", "assistant~: Half an ans", "user: two", "user: three", "assistant: Here again."];
    assert_eq!(bench.transcript(), transcript);
}

#[tokio::test]
async fn a_call_that_was_cut_in_the_middle_never_reaches_the_history() {
    let reply = Reply::new().text("Writing.").tool_call("c1", "Echo", "{\"word\": \"ha").cut();
    let bench = Bench::new(Script::new().reply(reply)).tools([echo("Echo")]);
    bench.run("go").await.outcome.unwrap_err();
    assert_eq!(bench.transcript(), ["user: go", "assistant~: Writing."]);
}

#[tokio::test]
async fn an_abort_while_streaming_keeps_the_partial_answer() {
    let bench =
        Bench::new(Script::new().reply(Reply::new().text("Once upon").gate("middle").text(" a time")));
    let gate = bench.provider.gate("middle");
    let abort = async {
        gate.reached().await;
        bench.recorder.wait_for(|kind| matches!(kind, EventKind::TextDelta { .. })).await;
        bench.cancel.cancel();
    };
    let (report, ()) = tokio::join!(bench.run("tell"), abort);
    assert_eq!(report.outcome.unwrap(), TurnEnd::Interrupted);
    assert_eq!(report.text, "Once upon");
    assert_eq!(bench.transcript(), ["user: tell", "assistant~: Once upon"]);
}

#[tokio::test]
async fn an_abort_before_the_first_call_calls_nobody() {
    let bench = Bench::new(Script::new());
    bench.cancel.cancel();
    let report = bench.run("too late").await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::Interrupted);
    assert_eq!(bench.provider.requests().len(), 0);
}

#[tokio::test]
async fn what_was_streamed_before_a_retry_is_void() {
    let retry = ModelEvent::Retry {
        attempt: 2,
        max_attempts: 5,
        delay_ms: 10,
        reason: "overloaded".into(),
        status: Some(529),
        abandoned: true,
    };
    let bench = Bench::new(Script::new().reply(Reply::new().text("gone").event(retry).text("kept")));
    let report = bench.run("x").await;
    assert_eq!(report.text, "kept");
    assert_eq!(bench.transcript(), ["user: x", "assistant: kept"]);
    assert_eq!(bench.recorder.count("provider_retry"), 1);
}

#[tokio::test]
async fn an_answer_of_a_fallback_is_marked_with_the_provider_that_wrote_it() {
    let fallback = ModelEvent::Fallback {
        provider: "other".into(),
        model: "model-2".into(),
        reason: "busy".into(),
        abandoned: true,
    };
    let reply = Reply::new().text("gone").event(fallback).thinking("Hm.", "sig-1").text("kept");
    let bench = Bench::new(Script::new().reply(reply).reply("on"));
    bench.run("x").await.outcome.unwrap();
    bench.run("y").await.outcome.unwrap();
    assert_eq!(bench.transcript(), ["user: x", "assistant: kept", "user: y", "assistant: on"]);
    let sent = &bench.provider.requests()[1].messages[1];
    let expected = json!([{"provider": "other", "text": "Hm.", "signature": "sig-1"}]);
    assert_eq!(serde_json::to_value(sent).unwrap()["reasoning"], expected);
    let told = &bench.recorder.json("provider_fallback")[0];
    assert_eq!(told["abandoned"], true);
    let answered = bench.recorder.json("provider_response_normalized");
    assert_eq!(answered[0]["model"], "model-2");
}

#[tokio::test]
async fn thinking_goes_back_to_the_provider_that_wrote_it() {
    let bench = Bench::new(
        Script::new()
            .reply(Reply::new().thinking("Hm.", "sig-1").tool_call("c1", "Echo", json!({"word": "a"})))
            .reply(Reply::new().text("b")),
    )
    .tools([echo("Echo")]);
    bench.run("think").await.outcome.unwrap();
    let sent = &bench.provider.requests()[1].messages[1];
    let expected = json!([{"provider": "scripted", "text": "Hm.", "signature": "sig-1"}]);
    assert_eq!(serde_json::to_value(sent).unwrap()["reasoning"], expected);
}

#[tokio::test]
async fn the_reason_an_answer_ended_decides_how_the_turn_ended() {
    for (reason, end) in [
        (FinishReason::EndTurn, TurnEnd::Completed),
        (FinishReason::MaxTokens, TurnEnd::OutputLimit),
        (FinishReason::Refusal, TurnEnd::Refused),
        (FinishReason::ContextWindow, TurnEnd::ContextFull),
    ] {
        let bench = Bench::new(Script::new().reply(Reply::new().text("so").stop(reason)));
        assert_eq!(bench.run("x").await.outcome.unwrap(), end);
    }
}

#[tokio::test]
async fn a_paused_answer_is_sent_back_to_be_continued() {
    let paused = Reply::new().text("Searching…").stop(FinishReason::PauseTurn);
    let bench = Bench::new(Script::new().reply(paused).reply(Reply::new().text("Found.")));
    let report = bench.run("search").await;
    assert_eq!((report.rounds, report.text.as_str()), (2, "Found."));
}

/// Hosts run turns on tasks of their own.
#[test]
fn a_turn_can_be_moved_to_another_thread() {
    fn needs_send(_: impl Send) {}
    let bench = Bench::new(Script::new());
    needs_send(bench.run("x"));
}
