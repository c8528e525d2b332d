//! Turns: what they return, what they leave in the log, and how they end.

use std::sync::Arc;

use robota_core::{EventKind, HistoryEntry, MessageState, ProviderErrorKind, Timestamp, TurnEnd};
use robota_session::{ErrorKind, InjectedRole, NullStore, Session, SessionStore};
use robota_testkit::{Reply, Script, event_name};
use serde_json::json;

use crate::scene::{Scene, TestTool, events, id, names, wait_for};

#[tokio::test]
async fn a_resumed_session_has_the_history_of_the_one_that_ran() {
    let script = Script::new()
        .reply(Reply::new().text("Looking.").tool_call("c1", "Look", json!({})))
        .reply("It is fine.");
    let scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("Is it fine?").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.ended), ("It is fine.", TurnEnd::Completed));
    assert_eq!((outcome.turn, outcome.rounds, outcome.denials.len()), (1, 2, 0));
    assert_eq!(outcome.usage.output_tokens, 20);
    let (history, timeline) = (session.history(), session.full_history());
    assert_eq!(history.len(), 4);
    session.shutdown("other").await.unwrap();

    let (provider, options) = scene.options_with("Still fine.");
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    assert_eq!(resumed.history(), history);
    assert_eq!(resumed.full_history(), timeline);
    assert!(resumed.defects().is_empty(), "{:?}", resumed.defects());
    let outcome = resumed.run("And now?").await.unwrap();
    assert_eq!(outcome.turn, 2);
    assert_eq!(provider.requests()[0].messages.len(), 5);
    provider.assert_clean();
}

#[tokio::test]
async fn the_log_tells_the_turn_in_order_and_is_what_is_streamed() {
    let scene = Scene::new(Reply::new().text(["He", "llo"]));
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    session.run("Hi").await.unwrap();
    session.shutdown("other").await.unwrap();
    let expected = [
        "session_init",
        "user",
        "history_mutation",
        "pre_run",
        "context",
        "provider_request",
        "text_delta",
        "provider_response_normalized",
        "history_mutation",
        "context",
        "assistant",
        "complete",
        "session_shutdown",
    ];
    let logged = scene.events();
    assert_eq!(names(&logged), expected);
    assert!(matches!(&logged[6].kind, EventKind::TextDelta { delta } if delta == "Hello"));
    assert_eq!(
        logged.iter().map(|event| event.turn).collect::<Vec<_>>(),
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    );
    let mut seqs = Vec::new();
    let mut stream_names = Vec::new();
    while let Some(event) = streamed.recv().await {
        seqs.push(event.seq);
        stream_names.push(event_name(&event.kind));
    }
    assert_eq!(seqs, (2..=14).collect::<Vec<u64>>());
    assert_eq!(stream_names.iter().filter(|name| *name == "text_delta").count(), 2);
}

#[tokio::test]
async fn a_second_run_at_the_same_time_is_refused() {
    let scene = Scene::new(Reply::new().hold_at("answer").text("Done."));
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("one").await }
    });
    scene.provider.gate("answer").reached().await;
    assert!(session.is_running());
    let error = session.run("two").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, "SESSION_BUSY"));
    assert_eq!(session.clear_history().unwrap_err().kind(), ErrorKind::Busy);
    let note = HistoryEntry::event("n".into(), Timestamp::default(), "note", json!("while running"));
    session.add_history_entry(note).unwrap();
    scene.provider.gate("answer").open();
    assert_eq!(running.await.unwrap().unwrap().text, "Done.");
    assert!(!session.is_running());
    assert_eq!(session.message_count(), 1);
    assert_eq!(session.full_history().len(), 3);
}

#[tokio::test]
async fn an_abort_keeps_the_partial_answer_and_the_session_goes_on() {
    let script =
        Script::new().reply(Reply::new().text("Half an").gate("middle").text(" answer")).reply("Whole.");
    let scene = Scene::new(script);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("one").await }
    });
    scene.provider.gate("middle").reached().await;
    session.abort();
    let outcome = running.await.unwrap().unwrap();
    assert_eq!((outcome.ended, outcome.text.as_str()), (TurnEnd::Interrupted, "Half an"));
    let last = session.history().pop().unwrap();
    assert_eq!((last.text(), last.state), ("Half an", MessageState::Interrupted));
    assert_eq!(session.run("two").await.unwrap().text, "Whole.");
    scene.provider.assert_clean();
    let logged = names(&scene.events());
    let end: Vec<&str> =
        logged.iter().map(String::as_str).filter(|name| ["interrupted", "complete"].contains(name)).collect();
    assert_eq!(end, ["interrupted", "complete", "complete"]);
}

#[tokio::test]
async fn a_failed_turn_is_logged_and_the_session_goes_on() {
    let script = Script::new().reply(Reply::error(401, "bad key")).reply("Better.");
    let scene = Scene::new(script);
    let session = Session::create(scene.options()).await.unwrap();
    let error = session.run("one").await.unwrap_err();
    let authentication = robota_core::ErrorKind::Provider(ProviderErrorKind::Authentication);
    assert_eq!(error.kind(), ErrorKind::Engine(authentication));
    assert_eq!(error.turn().unwrap().ended, TurnEnd::Failed);
    assert_eq!(error.engine().unwrap().provider_error().unwrap().status(), Some(401));
    let logged = scene.events();
    let (before, last) = logged.split_at(logged.len() - 1);
    assert!(
        matches!(&before.last().unwrap().kind, EventKind::Error { code, status, .. } if code == "AUTHENTICATION_ERROR" && *status == Some(401))
    );
    assert!(matches!(last[0].kind, EventKind::Complete { ended: TurnEnd::Failed, .. }));
    assert_eq!(session.run("two").await.unwrap().text, "Better.");
}

#[tokio::test]
async fn a_dropped_turn_leaves_a_session_that_goes_on() {
    let script = Script::new().reply(Reply::new().text("never").gate("middle")).reply("Whole.");
    let scene = Scene::new(script);
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    tokio::select! {
        _ = session.run("one") => panic!("the gate is closed"),
        () = async { scene.provider.gate("middle").reached().await } => {}
    }
    assert!(!session.is_running());
    let complete = wait_for(&mut streamed, "complete").await;
    assert!(matches!(complete.kind, EventKind::Complete { ended: TurnEnd::Interrupted, rounds: 1, .. }));
    assert_eq!(session.run("two").await.unwrap().text, "Whole.");
    scene.provider.assert_clean();
}

#[tokio::test]
async fn shutdown_happens_once_aborts_the_turn_and_closes() {
    let scene = Scene::new(Reply::new().text("Half").gate("middle"));
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let mut streamed = session.subscribe();
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("one").await }
    });
    scene.provider.gate("middle").reached().await;
    let (first, second) = tokio::join!(session.shutdown("prompt_input_exit"), session.shutdown("other"));
    first.unwrap();
    second.unwrap();
    assert_eq!(running.await.unwrap().unwrap().ended, TurnEnd::Interrupted);
    assert_eq!(session.run("two").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(session.flush().await.unwrap_err().kind(), ErrorKind::Closed);
    let last = wait_for(&mut streamed, "session_shutdown").await;
    assert!(matches!(&last.kind, EventKind::SessionShutdown { reason } if reason == "prompt_input_exit"));
    assert!(streamed.recv().await.is_none());
    assert_eq!(names(&scene.events()).iter().filter(|name| *name == "session_shutdown").count(), 1);
}

#[tokio::test]
async fn what_is_put_into_the_history_by_hand_survives() {
    let scene = Scene::new("Yes.");
    let session = Session::create(scene.options()).await.unwrap();
    session.inject_message(InjectedRole::User, "old question").unwrap();
    session.clear_history().unwrap();
    session.inject_message(InjectedRole::User, "question").unwrap();
    session.inject_message(InjectedRole::Assistant, "answer").unwrap();
    let note = HistoryEntry::event("n".into(), Timestamp::default(), "tool-summary", json!({"tools": 0}));
    session.add_history_entry(note).unwrap();
    session.set_name(Some("by hand")).unwrap();
    let (history, timeline) = (session.history(), session.full_history());
    assert_eq!((history.len(), timeline.len()), (2, 3));
    session.shutdown("other").await.unwrap();
    let mut options = scene.options();
    options.name = None;
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    assert_eq!((resumed.history(), resumed.full_history()), (history, timeline));
    assert_eq!(resumed.name().as_deref(), Some("by hand"));
}

#[tokio::test]
async fn without_a_store_a_session_runs_and_leaves_nothing() {
    let scene = Scene::new("Hello.");
    let mut options = scene.options();
    options.store = Arc::new(NullStore);
    let session = Session::create(options).await.unwrap();
    let mut streamed = session.subscribe();
    assert_eq!(session.run("Hi").await.unwrap().text, "Hello.");
    wait_for(&mut streamed, "complete").await;
    session.flush().await.unwrap();
    session.shutdown("other").await.unwrap();
    assert!(!scene.workspace.exists(".robota"));
    assert!(streamed.recv().await.is_some_and(|event| event_name(&event.kind) == "session_shutdown"));
    assert!(streamed.recv().await.is_none());
}

#[tokio::test]
async fn a_fork_goes_its_own_way_and_the_original_stays() {
    let scene = Scene::new("One.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("first").await.unwrap();
    let before = scene.log();
    let (provider, mut options) = scene.options_with("Two.");
    options.session_id = Some(id("f"));
    let fork = Session::fork(options, &id("s")).await.unwrap();
    assert_eq!(fork.history(), session.history());
    fork.run("second").await.unwrap();
    provider.assert_clean();
    fork.shutdown("other").await.unwrap();
    assert_eq!(scene.log(), before);
    assert_eq!(session.history().len(), 2);

    let stored = scene.store.load(&id("f")).await.unwrap();
    assert_eq!(stored.forked_from, Some(id("s")));
    assert_eq!(stored.history.messages().len(), 4);
    let log = scene.workspace.read(".robota/logs/f.jsonl");
    assert!(
        matches!(&events(log.as_bytes())[0].kind, EventKind::SessionInit { forked_from: Some(from), .. } if *from == id("s"))
    );
}

#[tokio::test]
async fn the_system_prompt_and_tools_stand_in_the_log_once() {
    let scene = Scene::new("One.").with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("first").await.unwrap();
    session.shutdown("other").await.unwrap();
    let (_, options) = scene.options_with("Two.");
    Session::resume(options, &id("s")).await.unwrap().shutdown("other").await.unwrap();
    assert_eq!(scene.log().matches("Be brief.").count(), 1);
    assert_eq!(scene.log().matches("inputSchema").count(), 1);
    let (_, mut options) = scene.options_with("Three.");
    options.system_prompt = "Be verbose.".into();
    Session::resume(options, &id("s")).await.unwrap().shutdown("other").await.unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.system_prompt.as_deref(), Some("Be verbose."));
    assert_eq!(scene.log().matches("inputSchema").count(), 1);
}

#[test]
fn a_session_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    fn sent<T: Send>(_: T) {}
    shared::<Session>();
    let _ = |session: &'static Session| sent(session.run("x"));
}
