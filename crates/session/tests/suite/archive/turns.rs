//! Going back to an earlier turn: in a fork, or in the session itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;

use robota_session::{ErrorKind, InjectedRole, NullStore, Session, SessionOptions, SessionStore};
use robota_testkit::{Reply, Rule, Script, ScriptedProvider};
use serde_json::json;

use crate::scene::{Scene, TestTool, id};

fn texts(session: &Session) -> Vec<String> {
    session.history().iter().map(|message| message.text().to_owned()).collect()
}

fn fork_options(scene: &Scene, name: &str) -> SessionOptions {
    let mut options = scene.options_with("More.").1;
    options.session_id = Some(id(name));
    options
}

/// A model that does not mind that what it has seen is taken back.
fn forgetful(script: Script) -> Scene {
    let mut scene = Scene::new(Script::new());
    scene.options.provider = Arc::new(ScriptedProvider::new(script).ignore(Rule::StablePrefix));
    scene
}

/// Three turns, a note after the first, and a clear after the second.
async fn three_turns() -> (Scene, Session) {
    let scene = forgetful(Script::new().reply("One.").reply("Two.").reply("Three.").reply("Four."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.inject_message(InjectedRole::User, "note").unwrap();
    session.run("two").await.unwrap();
    session.clear_history().unwrap();
    session.run("three").await.unwrap();
    (scene, session)
}

#[tokio::test]
async fn a_fork_at_a_turn_has_all_of_that_turn_and_nothing_of_later_ones() {
    let (scene, session) = three_turns().await;
    let cases: [(u32, &[&str]); 4] = [
        (0, &[]),
        (1, &["one", "One."]),
        (2, &["one", "One.", "note", "two", "Two."]),
        (3, &["three", "Three."]),
    ];
    for (turn, expected) in cases {
        let options = fork_options(&scene, &format!("fork-{turn}"));
        let fork = Session::fork_at(options, &id("s"), turn).await.unwrap();
        assert_eq!(texts(&fork), expected, "turn {turn}");
        assert_eq!(fork.run("go on").await.unwrap().turn, 1);
        fork.shutdown("other").await.unwrap();
        let stored = scene.store.load(&id(&format!("fork-{turn}"))).await.unwrap();
        assert_eq!((stored.forked_from, stored.defects.total()), (Some(id("s")), 0));
    }
    let error = Session::fork_at(fork_options(&scene, "fork"), &id("s"), 9).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::InvalidTurn, "the session has no turn 9")
    );
    assert_eq!(error.hint(), Some("choose one of the turns 1 to 3, or 0 for before the first"));
    assert!(scene.store.head(&id("fork")).await.unwrap().is_none());
    let error = Session::fork_at(fork_options(&scene, "fork"), &id("none"), 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    drop(session);
}

#[tokio::test]
async fn a_turn_that_was_cut_off_is_forked_with_its_calls_answered() {
    let script = Script::new().reply(Reply::new().tool_call("c1", "stuck", json!({}))).reply("Two.");
    let (tool, _) = TestTool::serial("stuck", |_| Box::pin(std::future::pending()));
    let scene = Scene::new(script).with_tools([tool]);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let mut events = session.subscribe();
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("one").await }
    });
    crate::scene::wait_for(&mut events, "tool_execution_request").await;
    session.flush().await.unwrap();
    let fork = Session::fork_at(fork_options(&scene, "fork"), &id("s"), 1).await.unwrap();
    assert_eq!(texts(&fork), ["one", "", "outcome unknown: the process stopped while this was running"]);
    running.abort();
}

#[tokio::test]
async fn a_rewound_session_is_back_at_that_turn_and_counts_on() {
    let (scene, session) = three_turns().await;
    // A clear lies between, so what was then is read from the log.
    let report = session.rewind(2).await.unwrap();
    let expected = json!({"turn": 2, "messagesBefore": 2, "messagesAfter": 5, "replaced": true});
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    let report = session.rewind(1).await.unwrap();
    assert_eq!((report.replaced, report.messages_after), (false, 2));
    assert_eq!(texts(&session), ["one", "One."]);
    assert_eq!(session.run("again").await.unwrap().turn, 4);
    assert_eq!(session.rewind(4).await.unwrap().messages_after, 4, "nothing to do");
    let history = session.history();
    session.shutdown("other").await.unwrap();

    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!((stored.history.messages(), stored.defects.total()), (&*history, 0));
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(session.rewind(3).await.unwrap().messages_after, 2);
    assert_eq!(texts(&session), ["three", "Three."]);
    let error = session.rewind(7).await.unwrap_err();
    assert_eq!(error.hint(), Some("choose one of the turns 1 to 4, or 0 for before the first"));
    session.shutdown("other").await.unwrap();
    assert_eq!(session.rewind(1).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn after_a_compaction_the_messages_of_an_earlier_turn_come_from_the_log() {
    let scene = Scene::new(Script::new().reply("One.").reply("Two."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    session.shutdown("other").await.unwrap();
    let replace = r#"{"seq":500,"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s","turn":0,"event":"history_mutation","mutation":"replace","messages":[{"id":"sum","timestamp":0,"role":"assistant","content":"summary"}]}"#;
    let mut log = OpenOptions::new().append(true).open(scene.workspace.path(".robota/logs/s.jsonl")).unwrap();
    writeln!(log, "{replace}").unwrap();
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(texts(&session), ["summary"]);
    assert!(session.rewind(1).await.unwrap().replaced);
    assert_eq!(texts(&session), ["one", "One."]);
}

#[tokio::test]
async fn a_session_without_a_log_goes_back_as_far_as_it_remembers() {
    let scene = forgetful(Script::new().reply("One.").reply("Two.").reply("Three."));
    let mut options = scene.options();
    options.store = Arc::new(NullStore);
    let session = Session::create(options).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    assert_eq!(session.rewind(1).await.unwrap().messages_after, 2);
    assert_eq!(session.run("three").await.unwrap().turn, 3);
    let error = session.rewind(2).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.hint()),
        (ErrorKind::InvalidTurn, Some("choose one of the turns 1, 3, or 0 for before the first"))
    );
    assert_eq!(session.rewind(0).await.unwrap().messages_after, 0);
}
