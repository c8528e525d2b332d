//! Between two turns, and at the end of a session: nothing leaks from one to the next, nothing is lost.

use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{HookInput, HookOutcome, HookRunner, TurnEnd};
use robota_session::{ErrorKind, NullStore, Session};
use robota_testkit::{Gate, Reply, Script, ScriptedHooks, ScriptedProvider};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, TestTool, id, names, wait_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_ends_leaves_the_next_one_alone() {
    const TURNS: usize = 300;
    let mut script = Script::new();
    for _ in 0..2 * TURNS {
        script = script.reply("ok");
    }
    let mut scene = Scene::new("unused");
    scene.options.provider = Arc::new(ScriptedProvider::new(script).lenient().light());
    scene.options.store = Arc::new(NullStore);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let work = |session: Arc<Session>| async move {
        let mut ends = Vec::new();
        while ends.len() < TURNS {
            match session.run("x").await {
                Ok(outcome) => ends.push(outcome.ended),
                Err(error) if error.kind() == ErrorKind::Busy => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
        ends
    };
    let (one, two) = (tokio::spawn(work(session.clone())), tokio::spawn(work(session)));
    let ends = [one.await.unwrap(), two.await.unwrap()].concat();
    assert_eq!(ends, vec![TurnEnd::Completed; 2 * TURNS]);
}

#[tokio::test]
async fn a_blocked_turn_has_no_answer() {
    let hooks = ScriptedHooks::new()
        .answer("UserPromptSubmit", HookOutcome::default())
        .answer("UserPromptSubmit", HookOutcome::blocked("No."));
    let mut scene = Scene::new(Script::new().reply("Hello."));
    scene.options.hooks = Some(Arc::new(hooks));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    assert_eq!(session.run("My password").await.unwrap().ended, TurnEnd::Blocked);
    let of_turn_2: Vec<_> = scene.events().into_iter().filter(|event| event.turn == 2).collect();
    assert_eq!(names(&of_turn_2), ["user", "hook", "complete"]);
}

#[tokio::test]
async fn input_given_to_a_turn_that_is_dropped_is_not_lost() {
    let script = Script::new().reply(Reply::new().tool_call("c1", "Slow", json!({}))).reply("I see.");
    let (slow, _) = TestTool::parallel("Slow", |_| Box::pin(pending()));
    let scene = Scene::new(script).with_tools([slow]);
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    let say_more = async {
        wait_for(&mut streamed, "tool_execution_request").await;
        session.inject_input("more").unwrap();
    };
    tokio::select! {
        _ = session.run("Go.") => panic!("the tool never ends"),
        () = say_more => {}
    }
    let outcome = session.run("What happened?").await.unwrap();
    assert_eq!(outcome.unsent_input, ["more"]);
}

#[tokio::test]
async fn what_the_start_hook_said_waits_for_a_prompt_that_fits() {
    let hooks = ScriptedHooks::new().always("SessionStart", HookOutcome::context("The build is broken."));
    let mut scene = Scene::new(Script::new().reply("Hello."));
    scene.options.hooks = Some(Arc::new(hooks));
    scene.options.context_window = 10_000;
    scene.options.auto_compact_threshold = None;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("x".repeat(60_000)).await.unwrap_err();
    session.run("Hi").await.unwrap();
    assert!(format!("{:?}", session.history()).contains("The build is broken."));
}

#[tokio::test]
async fn a_tool_that_began_stays_unknown_over_a_compaction_and_a_kill() {
    let script =
        Script::new().reply("One.").reply(Reply::new().tool_call("c1", "Slow", json!({}))).reply("Sum.");
    let (slow, _) = TestTool::serial("Slow", |_| Box::pin(pending()));
    let scene = Scene::new(script).with_tools([slow]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("first ".repeat(300)).await.unwrap();
    let mut streamed = session.subscribe();
    tokio::select! {
        _ = session.run("Go.") => panic!("the tool never ends"),
        _ = wait_for(&mut streamed, "tool_execution_request") => {}
    }
    session.compact(None).await.unwrap();
    drop(session);
    while streamed.recv().await.is_some() {}
    let (_, options) = scene.options_with("I see.");
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    let last = resumed.history().last().unwrap().text().to_owned();
    assert!(last.starts_with("outcome unknown"), "{last}");
}

/// Hooks of which those of the session's end wait for a gate.
struct SlowEnd(Gate);

impl HookRunner for SlowEnd {
    fn run<'a>(&'a self, input: &'a HookInput, _: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        Box::pin(async move {
            if input.call.name() == "SessionEnd" {
                self.0.pass().await;
            }
            HookOutcome::default()
        })
    }
}

#[tokio::test]
async fn a_shutdown_that_was_dropped_is_finished_by_the_next_and_told_once() {
    let gate = Gate::new("end");
    let mut scene = Scene::new("One.");
    scene.options.hooks = Some(Arc::new(SlowEnd(gate.clone())));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    tokio::select! {
        _ = session.shutdown("first") => panic!("its hook waits"),
        () = gate.reached() => {}
    }
    session.shutdown("second").await.unwrap();
    let ends = names(&scene.events()).iter().filter(|name| *name == "session_shutdown").count();
    assert_eq!(ends, 1);
    assert!(Session::resume(scene.options(), &id("s")).await.is_ok(), "the lock is given back");
}
