//! Tool calls that a crash or an abort cut off.

use std::sync::atomic::Ordering;

use futures_util::future::pending;
use robota_core::{EventKind, MessageRef};
use robota_session::{Session, SessionStore};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool, id, wait_for};

fn told(history: &[MessageRef]) -> Vec<(String, String)> {
    let results = history.iter().filter_map(|message| {
        let code = message.metadata.get("errorCode").and_then(|code| code.as_str()).unwrap_or("");
        message.answers().map(|call| (format!("{call}: {}", message.text()), code.to_owned()))
    });
    results.collect()
}

fn is_request(kind: &EventKind, call: &str) -> bool {
    matches!(kind, EventKind::ToolExecutionRequest { tool_call_id, .. } if tool_call_id == call)
}

#[tokio::test]
async fn a_call_that_was_running_is_unknown_and_one_that_waited_was_not_run() {
    let script = Script::new().reply(
        Reply::new().tool_call("c1", "Quick", json!({})).tool_call("c2", "Slow", json!({})).tool_call(
            "c3",
            "Quick",
            json!({}),
        ),
    );
    // Not parallel: the third call waits for the second.
    let quick = TestTool::prompt("Quick");
    let (slow, calls) = TestTool::serial("Slow", |_| Box::pin(pending()));
    let scene = Scene::new(script).with_tools([quick, slow]);
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    let copy = scene.workspace.path("copy.jsonl");
    tokio::select! {
        _ = session.run("Go.") => panic!("the tool never ends"),
        () = async {
            while !is_request(&wait_for(&mut streamed, "tool_execution_request").await.kind, "c2") {}
            while calls.load(Ordering::SeqCst) == 0 { tokio::task::yield_now().await; }
            // As a kill would leave it: the session does not get to say anything more.
            std::fs::copy(scene.store.log_path(&id("s")), &copy).unwrap();
        } => {}
    }
    drop(session);
    while streamed.recv().await.is_some() {}
    scene.workspace.write(".robota/logs/s.jsonl", std::fs::read(&copy).unwrap());

    let (provider, options) = scene.options_with("I see.");
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    let expected = [
        ("c2: outcome unknown: the process stopped while this was running", "outcome_unknown"),
        ("c3: not run: the process stopped before it could run", "not_run"),
    ];
    let told = told(&resumed.history());
    let told: Vec<(&str, &str)> = told.iter().map(|(text, code)| (text.as_str(), code.as_str())).collect();
    assert_eq!(told[told.len() - 2..], expected);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    resumed.run("What happened?").await.unwrap();
    provider.assert_clean();
    let history = resumed.history();
    resumed.shutdown("other").await.unwrap();
    // The answers are recorded: another resume adds nothing.
    assert_eq!(scene.store.load(&id("s")).await.unwrap().history.messages(), history);
}

#[tokio::test]
async fn a_dropped_turn_is_answered_before_the_next() {
    let script = Script::new().reply(Reply::new().tool_call("c1", "Slow", json!({}))).reply("I see.");
    let (slow, _) = TestTool::parallel("Slow", |_| Box::pin(pending()));
    let scene = Scene::new(script).with_tools([slow]);
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    tokio::select! {
        _ = session.run("Go.") => panic!("the tool never ends"),
        _ = wait_for(&mut streamed, "tool_execution_request") => {}
    }
    session.run("What happened?").await.unwrap();
    let told = told(&session.history());
    assert_eq!(told[0].0, "c1: outcome unknown: the turn was dropped while this was running");
    scene.provider.assert_clean();
}
