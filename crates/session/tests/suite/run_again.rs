//! A session that is had again with the answers of its log.

use std::sync::Arc;

use robota_core::{Body, FinishReason, MessageRef, ModelEvent, RecordedAnswer};
use robota_providers::ReplayProvider;
use robota_session::{Session, SessionStore, recorded_answers};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool, id};

fn scene(script: Script) -> Scene {
    let mut scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    scene.options.context_window = 20_000;
    scene.options.auto_compact_threshold = None;
    scene
}

/// Four turns, of which the second fails in the middle of the answer, and a compaction.
async fn talk(scene: &Scene, provider: Option<Arc<ReplayProvider>>) -> Vec<Body> {
    let mut options = scene.options();
    if let Some(provider) = provider {
        options.provider = provider;
    }
    let session = Session::create(options).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap_err();
    session.run("three").await.unwrap();
    session.compact(None).await.unwrap();
    session.run("four").await.unwrap();
    session.shutdown("other").await.unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    stored.history.messages().iter().map(|message: &MessageRef| message.body.clone()).collect()
}

#[tokio::test]
async fn the_answers_of_a_log_lead_to_the_same_history() {
    let native = ModelEvent::NativeContent { format: "f".into(), items: vec![json!({"type": "x"})] };
    let script = Script::new()
        .reply(Reply::new().thinking("Hm.", "signed").text("Looking.").tool_call(
            "c1",
            "Look",
            json!({"at": 1}),
        ))
        .reply("Seen.")
        .reply(Reply::new().text("half").cut())
        .reply(Reply::new().tool_call("c1", "Look", "{\"at\": 2,}").event(native))
        .reply(Reply::new().text("Again.").stop(FinishReason::MaxTokens))
        .reply("They looked twice.")
        .reply("Done.");
    let recorded = scene(script);
    let history = talk(&recorded, None).await;
    let answers = recorded_answers(recorded.events());
    assert_eq!(answers.len(), 7);
    assert!(answers.iter().all(|answer| answer.digest.is_some()));

    let again = scene(Script::new());
    let provider = Arc::new(ReplayProvider::new("scripted", answers));
    assert_eq!(talk(&again, Some(provider.clone())).await, history);
    assert_eq!(provider.remaining(), 0);
    let digests =
        |answers: Vec<RecordedAnswer>| answers.iter().map(|answer| answer.digest).collect::<Vec<_>>();
    assert_eq!(digests(recorded_answers(again.events())), digests(recorded_answers(recorded.events())));
}

#[tokio::test]
async fn another_conversation_is_told_from_the_recorded_one() {
    let recorded = scene(Script::new().reply("Hello."));
    let session = Session::create(recorded.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.shutdown("other").await.unwrap();
    let again = scene(Script::new());
    let mut options = again.options();
    options.provider = Arc::new(ReplayProvider::new("scripted", recorded_answers(recorded.events())));
    let session = Session::create(options).await.unwrap();
    let error = session.run("another").await.unwrap_err().to_string();
    assert!(error.contains("model call 1 is not the one that was recorded"), "{error}");
}
