//! Answers in the form of a schema.

use std::sync::Arc;

use robota_core::{
    Body, Capabilities, ErrorKind, EventKind, FinishReason, HookOutcome, ModelRequest, Part, ProviderInfo,
    TurnEnd,
};
use robota_session::{OutputSchema, Prompt, Session, TurnOutcome, replay};
use robota_testkit::{Reply, Script, ScriptedHooks, ScriptedProvider};
use serde_json::json;

use crate::scene::{Scene, TestTool, names};

const VALID: &str = r#"{"bolts": 12}"#;

fn schema() -> OutputSchema {
    let schema = json!({
        "type": "object", "properties": {"bolts": {"type": "integer"}}, "required": ["bolts"],
    });
    OutputSchema::new(schema).unwrap()
}

fn prompt() -> Prompt {
    Prompt::new("How many bolts?").with_output_schema(schema())
}

/// A scene whose provider keeps to schemas by itself, or does not.
fn scene(script: impl Into<Script>, native: bool) -> Scene {
    let capabilities = Capabilities { tools: true, structured_output: native, ..Capabilities::default() };
    let provider = ScriptedProvider::new(script).with_info(ProviderInfo::new("scripted", capabilities));
    let mut scene = Scene::new(Script::new());
    scene.provider = Arc::new(provider);
    scene.options.provider = scene.provider.clone();
    scene
}

/// What the model was told besides the words of the user, message by message.
fn told(request: &ModelRequest) -> Vec<String> {
    let last = request.messages.last().unwrap();
    let Body::User { content, parts, .. } = &last.body else { panic!("{last:?}") };
    let parts = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        part => panic!("{part:?}"),
    });
    std::iter::once(content.clone()).chain(parts).collect()
}

async fn ran(scene: &Scene, prompt: impl Into<Prompt>) -> Result<TurnOutcome, robota_session::Error> {
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run(prompt).await;
    session.shutdown("other").await.unwrap();
    scene.provider.assert_clean();
    outcome
}

async fn assert_replays(scene: &Scene) {
    let report = replay(scene.events()).await;
    assert_eq!((report.first_divergence(), report.unverifiable()), (None, 0));
}

#[tokio::test]
async fn a_provider_that_keeps_to_schemas_is_asked_to_in_every_request_of_the_turn() {
    let look = Reply::new().tool_call("c", "Look", json!({}));
    let scene = scene(Script::new().reply(look).reply(VALID).reply("Gladly."), true)
        .with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run(prompt()).await.unwrap();
    assert_eq!((outcome.structured, outcome.rounds), (Some(json!({"bolts": 12})), 2));
    let outcome = session.run("Thanks").await.unwrap();
    assert_eq!((outcome.structured, outcome.text.as_str()), (None, "Gladly."));
    session.shutdown("other").await.unwrap();

    let requests = scene.provider.requests();
    let forms: Vec<_> = requests.iter().map(|request| request.response_format.clone()).collect();
    assert_eq!(forms[0].as_ref().map(|form| &form.schema), Some(schema().schema()));
    assert_eq!((&forms[1], &forms[2]), (&forms[0], &None));
    assert_eq!(told(&requests[0]), ["How many bolts?"], "the request says it all");
    let event = scene.events().into_iter().find_map(|event| match event.kind {
        EventKind::StructuredOutput { value, native, repairs } => Some((value, native, repairs)),
        _ => None,
    });
    assert_eq!(event, Some((json!({"bolts": 12}), true, 0)));
    assert_replays(&scene).await;
}

#[tokio::test]
async fn elsewhere_the_model_is_told_the_schema_and_mends_what_does_not_fit() {
    let scene = scene(
        Script::new().reply("Twelve.").reply(r#"{"bolts": "12"}"#).reply("```json\n{\"bolts\": 12}\n```"),
        false,
    );
    let outcome = ran(&scene, prompt()).await.unwrap();
    assert_eq!((outcome.structured, outcome.rounds), (Some(json!({"bolts": 12})), 3));
    let requests = scene.provider.requests();
    assert!(requests.iter().all(|request| request.response_format.is_none()));
    let first = told(&requests[0]);
    assert_eq!(first[0], "How many bolts?");
    assert!(first[1].contains(&schema().schema().to_string()), "{first:?}");
    let second = told(&requests[1]);
    assert!(second[0].contains("cannot be used: there is no JSON object in it"), "{second:?}");
    let third = told(&requests[2]);
    assert!(third[0].contains("- /bolts: \"12\" is not of type \"integer\""), "{third:?}");
    assert_replays(&scene).await;
}

#[tokio::test]
async fn after_three_repairs_the_turn_fails_and_the_session_goes_on() {
    let replies = ["one", "two", "three", "four"];
    let script = replies.into_iter().fold(Script::new(), |script, text| script.reply(text));
    let scene = scene(script.reply("And on."), true);
    let session = Session::create(scene.options()).await.unwrap();
    let error = session.run(prompt()).await.unwrap_err();
    assert_eq!(error.kind(), robota_session::ErrorKind::Engine(ErrorKind::StructuredOutput));
    assert_eq!(error.code(), "STRUCTURED_OUTPUT_ERROR");
    assert_eq!(
        error.to_string(),
        "there is no answer in the form of the schema: after 3 repairs it still cannot be used: there is no JSON object in it"
    );
    let turn = error.turn().unwrap();
    assert_eq!((turn.ended, turn.rounds, &turn.structured), (TurnEnd::Failed, 4, &None));
    assert_eq!(turn.text, "four");
    assert_eq!(session.run("go on").await.unwrap().text, "And on.");
    session.shutdown("other").await.unwrap();
    let names = names(&scene.events());
    assert!(!names.contains(&"structured_output".to_owned()), "{names:?}");
    assert_replays(&scene).await;
}

#[tokio::test]
async fn a_turn_that_is_cut_short_has_no_value() {
    // Out of rounds: the last words are words.
    let mut short = scene(Script::new().reply("Twelve.").reply("I had twelve."), true);
    short.options.max_turns = 1;
    let outcome = ran(&short, prompt()).await.unwrap();
    assert_eq!((outcome.ended, outcome.structured), (TurnEnd::MaxRounds, None));
    let forms: Vec<_> = short.provider.requests().iter().map(|r| r.response_format.is_some()).collect();
    assert_eq!(forms, [true, false]);
    assert_replays(&short).await;

    let cut = Reply::new().text(r#"{"bolts": 1"#).stop(FinishReason::MaxTokens);
    let error = ran(&scene(cut, true), prompt()).await.unwrap_err();
    assert!(error.to_string().ends_with("the answer reached the output limit and is cut"), "{error}");
    let refusal = Reply::new().text("No.").stop(FinishReason::Refusal);
    let error = ran(&scene(refusal, true), prompt()).await.unwrap_err();
    assert!(error.to_string().ends_with("the model declined to answer"), "{error}");
}

#[tokio::test]
async fn an_answer_without_any_word_is_mended_too() {
    // An earlier text of the turn is not taken for the answer.
    let look = Reply::new().text(VALID).tool_call("c", "Look", json!({}));
    let script = Script::new().reply(look).reply(Reply::new()).reply(r#"{"bolts": 3}"#);
    let scene = scene(script, false).with_tools([TestTool::prompt("Look")]);
    let outcome = ran(&scene, prompt()).await.unwrap();
    assert_eq!(outcome.structured, Some(json!({"bolts": 3})));
}

#[tokio::test]
async fn stop_hooks_hear_only_of_an_answer_that_fits_and_may_have_it_done_again() {
    let scene = scene(Script::new().reply("Twelve.").reply(VALID).reply(r#"{"bolts": 13}"#), false);
    let hooks = Arc::new(ScriptedHooks::new().answer("Stop", HookOutcome::blocked("Count again.")));
    let mut options = scene.options();
    options.hooks = Some(hooks.clone());
    let session = Session::create(options).await.unwrap();
    let outcome = session.run(prompt()).await.unwrap();
    assert_eq!((outcome.structured, outcome.rounds), (Some(json!({"bolts": 13})), 3));
    session.shutdown("other").await.unwrap();
    let stops = hooks.events().into_iter().filter(|event| *event == "Stop").count();
    assert_eq!(stops, 2, "one for each answer that fits");
}
