//! Copies without a model.

use std::sync::Arc;

use robota_session::archive::{ForkOptions, fork};
use robota_session::{ErrorKind, Session, SessionStore, validate_session_replay_log_items};
use robota_testkit::{Reply, Script, fixed_ambient};
use serde_json::json;

use super::two_turns;
use crate::scene::{Scene, TestTool, id};

fn options() -> ForkOptions {
    let mut options = ForkOptions::default();
    options.ambient = fixed_ambient();
    options
}

#[tokio::test]
async fn a_copy_tells_where_it_comes_from_and_can_be_gone_on_with() {
    let scene = two_turns().await;
    let mut options = options();
    options.name = Some(" copy ".to_owned());
    let report = fork(&scene.store, &id("s"), &options).await.unwrap();
    assert_eq!((report.forked_from, report.name.as_deref()), (id("s"), Some("copy")));
    let original = scene.store.load(&id("s")).await.unwrap();
    let copy = scene.store.load(&report.session_id).await.unwrap();
    assert_eq!(copy.history.messages(), original.history.messages());
    assert_eq!(copy.history.entries(), original.history.entries());
    assert_eq!((copy.forked_from, copy.system_prompt), (Some(id("s")), original.system_prompt));
    assert_eq!((copy.turn, copy.defects.total(), report.messages), (0, 0, copy.history.messages().len()));
    let items: Vec<_> = scene.store.read_log(&report.session_id).unwrap().map(Result::unwrap).collect();
    let verdict = validate_session_replay_log_items(&items);
    assert!(verdict.ok, "{verdict:?}");

    let provider_options = scene.options_with("More.").1;
    let session = Session::resume(provider_options, &report.session_id).await.unwrap();
    assert_eq!(session.run("go on").await.unwrap().text, "More.");
    session.shutdown("other").await.unwrap();
}

#[tokio::test]
async fn a_copy_may_begin_at_an_earlier_turn_or_nothing_is_made() {
    let scene = two_turns().await;
    let mut at_one = options();
    at_one.at = Some(1);
    let report = fork(&scene.store, &id("s"), &at_one).await.unwrap();
    let copy = scene.store.load(&report.session_id).await.unwrap();
    assert_eq!(copy.history.messages().last().unwrap().text(), "Found it.");

    at_one.at = Some(7);
    let error = fork(&scene.store, &id("s"), &at_one).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.hint()),
        (ErrorKind::InvalidTurn, Some("choose one of the turns 1 to 2, or 0 for before the first"))
    );
    let error = fork(&scene.store, &id("none"), &options()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(scene.store.list().await.unwrap().sessions.len(), 2);
}

#[tokio::test]
async fn calls_that_run_in_the_original_are_answered_in_the_copy() {
    let script = Script::new().reply(Reply::new().tool_call("c1", "stuck", json!({})));
    let (tool, _) = TestTool::serial("stuck", |_| Box::pin(std::future::pending()));
    let scene = Scene::new(script).with_tools([tool]);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let mut events = session.subscribe();
    let running = Arc::clone(&session);
    let turn = tokio::spawn(async move { running.run("go").await });
    crate::scene::wait_for(&mut events, "tool_execution_request").await;
    session.flush().await.unwrap();
    let report = fork(&scene.store, &id("s"), &options()).await.unwrap();
    let copy = scene.store.load(&report.session_id).await.unwrap();
    let last = copy.history.messages().last().unwrap();
    assert_eq!(last.text(), "outcome unknown: the process stopped while this was running");
    turn.abort();
}
