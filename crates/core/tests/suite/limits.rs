//! Rounds and the context window.

use robota_core::{Body, Message, Part, Timestamp, ToolChoice, TurnEnd, Usage};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::bench::{Bench, echo};

fn call(id: &str, word: &str) -> Reply {
    Reply::new().tool_call(id, "Echo", json!({"word": word}))
}

fn usage(input: u64) -> Usage {
    Usage { input_tokens: input, ..Usage::default() }
}

#[tokio::test]
async fn when_the_rounds_run_out_the_model_has_the_last_word_without_tools() {
    let script =
        Script::new().reply(call("c1", "a")).reply(call("c2", "b")).reply(Reply::new().text("That far."));
    let mut bench = Bench::new(script).tools([echo("Echo")]);
    bench.config.max_rounds = 2;
    let report = bench.run("go").await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::MaxRounds);
    assert_eq!((report.text.as_str(), report.rounds), ("That far.", 2));
    let requests = bench.provider.requests();
    assert_eq!(requests[2].tool_choice, ToolChoice::None);
    assert_eq!(requests[2].tools, requests[0].tools, "the cached prefix stays valid");
    let asked = requests[2].messages.last().unwrap();
    assert!(asked.text().contains("cannot call tools any more"));
    assert!(!bench.transcript().iter().any(|line| line.contains("cannot call tools any more")));
}

#[tokio::test]
async fn a_failing_last_word_leaves_the_end_as_it_was() {
    let script = Script::new().reply(call("c1", "a")).reply(Reply::error(500, "down"));
    let mut bench = Bench::new(script).tools([echo("Echo")]);
    bench.config.max_rounds = 1;
    assert_eq!(bench.run("go").await.outcome.unwrap(), TurnEnd::MaxRounds);
    assert_eq!(bench.transcript().last().unwrap(), "tool: a");
}

#[tokio::test]
async fn a_model_that_only_calls_tools_that_do_not_exist_is_asked_to_close() {
    let nope = |id: &str| Reply::new().tool_call(id, "Nope", json!({}));
    let script = Script::new().reply(nope("c1")).reply(nope("c2")).reply(Reply::new().text("I give up."));
    let bench = Bench::new(script).tools([echo("Echo")]);
    let report = bench.run("go").await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::Completed);
    assert_eq!((report.rounds, report.text.as_str()), (2, "I give up."));
}

#[tokio::test]
async fn past_eighty_percent_the_remaining_calls_do_not_run() {
    let reply = call("c1", &"x".repeat(400)).tool_call("c2", "Echo", json!({"word": "y"})).usage(usage(700));
    let mut bench = Bench::new(Script::new().reply(reply).reply(Reply::new().text("ok").usage(usage(850))))
        .tools([echo("Echo")]);
    bench.config.context_window = 1_000;
    assert_eq!(bench.run("go").await.outcome.unwrap(), TurnEnd::Completed);
    let transcript = bench.transcript();
    assert_eq!(transcript[2], format!("tool: {}", "x".repeat(400)));
    assert_eq!(transcript[3], "tool!: Not run: the context window is nearly full.");
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_leaves_no_trace() {
    let mut bench = Bench::new(Script::new().reply(Reply::new().text("ok").usage(usage(500))).reply("fine"));
    bench.config.context_window = 1_000;
    bench.run("one").await.outcome.unwrap();
    let error = bench.run(&"word ".repeat(1_000)).await.outcome.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prompt has about 1000 tokens, and the context window has room for 450"
    );
    assert!(error.hint().unwrap().contains("Put the text into a file"));
    assert_eq!(bench.run("small").await.outcome.unwrap(), TurnEnd::Completed);
    assert_eq!(bench.transcript(), ["user: one", "assistant: ok", "user: small", "assistant: fine"]);
}

#[tokio::test]
async fn past_ninety_five_percent_the_model_is_not_called() {
    let script = Script::new().reply(Reply::new().text("ok").usage(usage(960)));
    let mut bench = Bench::new(script);
    bench.config.context_window = 1_000;
    bench.run("one").await.outcome.unwrap();
    let report = bench.run("two").await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::ContextFull);
    assert_eq!(bench.provider.requests().len(), 1);
    assert!(report.text.contains("Start a new session"), "{}", report.text);
}

fn with_images(count: usize) -> Message {
    let image = Part::ImageInline { mime_type: "image/png".into(), data: "A".repeat(800_000) };
    let parts = vec![image; count];
    let body = Body::User { content: "What is this?".into(), parts, name: None };
    Message::with_body("photo", Timestamp::default(), body)
}

#[tokio::test]
async fn photos_take_the_room_of_images_and_not_of_their_files() {
    let mut bench = Bench::new(Script::new().reply("A cat.").reply("Gladly."));
    bench.config.context_window = 10_000;
    assert_eq!(bench.run_message(with_images(1)).await.outcome.unwrap(), TurnEnd::Completed);
    let error = bench.run_message(with_images(6)).await.outcome.unwrap_err();
    assert!(error.to_string().starts_with("the prompt has about 9605 tokens"), "{error}");
    assert_eq!(bench.run("Thanks.").await.outcome.unwrap(), TurnEnd::Completed);
}
