//! Hooks that end a turn, turns that end hooks, and hooks that break.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{HookCall, HookInput, HookOutcome, HookRunner, PermissionMode, SessionSource, TurnEnd};
use robota_session::{Session, replay};
use robota_testkit::{Gate, Reply, Script, ScriptedHooks};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{hooks_on, results};
use crate::permission::shell;
use crate::scene::{Scene, TestTool, names};

fn stopping(reason: &str) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    outcome.stop = Some(reason.to_owned());
    outcome
}

#[tokio::test]
async fn a_hook_around_a_call_ends_the_turn_when_the_results_are_in() {
    for (event, ran) in [("PreToolUse", 0), ("PostToolUse", 2), ("PermissionRequest", 0)] {
        let mut shell = shell(&["make test", "make all"]);
        if event != "PermissionRequest" {
            shell.scene.options.permissions.mode = PermissionMode::BypassPermissions;
        }
        hooks_on(&mut shell.scene, ScriptedHooks::new().always(event, stopping("enough for today")));
        let session = Session::create(shell.scene.options()).await.unwrap();
        let outcome = session.run("Test it.").await.unwrap();
        let told = (outcome.ended, outcome.stopped.as_deref());
        assert_eq!(told, (TurnEnd::Stopped, Some("enough for today")), "{event}");
        assert_eq!(results(&shell.scene).len(), 2, "{event}");
        assert_eq!(shell.ran.lock().unwrap().len(), ran, "{event}");
        assert_eq!(shell.scene.provider.requests().len(), 1, "{event}");
        // The session goes on, with the next prompt.
        let hooks_are_gone = {
            let (_, mut options) = shell.scene.options_with(Script::new().reply("Yes."));
            session.shutdown("other").await.unwrap();
            options.hooks = None;
            Session::resume(options, &crate::scene::id("s")).await.unwrap()
        };
        assert_eq!(hooks_are_gone.run("Again?").await.unwrap().ended, TurnEnd::Completed, "{event}");
        let report = replay(&shell.scene.events()).await;
        assert_eq!(report.first_divergence(), None, "{event}");
    }
}

#[tokio::test]
async fn a_hook_at_the_prompt_or_at_the_start_ends_the_turn_before_the_model() {
    for event in ["UserPromptSubmit", "SessionStart"] {
        let mut scene = Scene::new(Script::new().reply("Hello."));
        let hooks = hooks_on(&mut scene, ScriptedHooks::new().answer(event, stopping("closed")));
        let session = Session::create(scene.options()).await.unwrap();
        let outcome = session.run("Hi").await.unwrap();
        assert_eq!(
            (outcome.ended, outcome.stopped.as_deref()),
            (TurnEnd::Stopped, Some("closed")),
            "{event}"
        );
        assert_eq!(names(&scene.events()).last().map(String::as_str), Some("complete"));
        assert!(session.history().is_empty() && scene.provider.requests().is_empty(), "{event}");
        assert_eq!(session.said_at_start().is_some(), event == "SessionStart");
        assert_eq!(session.run("Hi").await.unwrap().text, "Hello.", "{event}");
        assert_eq!(hooks.events()[0], "SessionStart");
    }
}

#[tokio::test]
async fn a_stop_hook_that_ends_the_turn_outranks_one_that_sends_the_model_on() {
    let mut outcome = stopping("it is late");
    outcome.block = Some("Run the tests.".into());
    let mut scene = Scene::new(Script::new().reply("Done."));
    hooks_on(&mut scene, ScriptedHooks::new().always("Stop", outcome));
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("Do it.").await.unwrap();
    assert_eq!((outcome.ended, outcome.stopped.as_deref()), (TurnEnd::Completed, Some("it is late")));
    assert_eq!(scene.provider.requests().len(), 1);
}

#[tokio::test]
async fn an_abort_ends_hooks_that_hang_and_answers_the_call() {
    for event in ["PreToolUse", "PostToolUse", "PermissionRequest"] {
        let door = Gate::new("never");
        let mut shell = shell(&["make test"]);
        if event != "PermissionRequest" {
            shell.scene.options.permissions.mode = PermissionMode::BypassPermissions;
        }
        hooks_on(&mut shell.scene, ScriptedHooks::new().hold_at(event, door.clone()));
        let session = Session::create(shell.scene.options()).await.unwrap();
        let abort = async {
            door.reached().await;
            session.abort();
        };
        let (outcome, ()) = tokio::join!(session.run("Test it."), abort);
        assert_eq!(outcome.unwrap().ended, TurnEnd::Interrupted, "{event}");
        let ran = event == "PostToolUse";
        let expected = if ran { "done" } else { "Not run: the user interrupted the turn." };
        assert_eq!(results(&shell.scene), [expected], "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_are_told_of_a_call_that_was_interrupted_and_cannot_hold_the_turn_up() {
    let started = Gate::new("started");
    let held = started.clone();
    let (tool, _) = TestTool::serial("Act", move |context| {
        let held = held.clone();
        Box::pin(async move {
            let _ = context.cancel.run_until_cancelled(held.pass()).await;
            Ok(robota_core::ToolOutcome::failure("stopped"))
        })
    });
    let script = Script::new().reply(Reply::new().tool_call("c0", "Act", json!({})));
    let mut scene = Scene::new(script).with_tools([tool]);
    let never = Gate::new("never");
    let hooks = hooks_on(&mut scene, ScriptedHooks::new().hold_at("PostToolUseFailure", never));
    let session = Session::create(scene.options()).await.unwrap();
    let abort = async {
        started.reached().await;
        session.abort();
    };
    let (outcome, ()) = tokio::join!(session.run("Go."), abort);
    assert_eq!(outcome.unwrap().ended, TurnEnd::Interrupted);
    let interrupted =
        |call: &HookCall| matches!(call, HookCall::PostToolUseFailure { is_interrupt: true, .. });
    assert!(hooks.calls().iter().any(interrupted), "{:?}", hooks.events());
}

/// Hooks whose runner crashes at `at`, and waits for ever at `hang`, whatever its token says.
struct Broken {
    at: &'static str,
    hang: &'static str,
    hanging: Gate,
}

impl HookRunner for Broken {
    fn run<'a>(&'a self, input: &'a HookInput, _: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        let name = input.call.name();
        assert!(name != self.at, "as asked");
        Box::pin(async move {
            if name == self.hang {
                self.hanging.pass().await;
            }
            HookOutcome::default()
        })
    }
}

fn broken(at: &'static str, hang: &'static str) -> Arc<Broken> {
    Arc::new(Broken { at, hang, hanging: Gate::new("hanging") })
}

#[tokio::test]
async fn hooks_that_crash_are_reported_and_only_a_guard_stops_what_it_guards() {
    for (event, ran) in
        [("PreToolUse", false), ("PostToolUse", true), ("UserPromptSubmit", true), ("Stop", true)]
    {
        let mut shell = shell(&["make test"]);
        shell.scene.options.permissions.mode = PermissionMode::BypassPermissions;
        shell.scene.options.hooks = Some(broken(event, ""));
        let session = Session::create(shell.scene.options()).await.unwrap();
        let outcome = session.run("Test it.").await.unwrap();
        assert_eq!(
            (outcome.ended, !shell.ran.lock().unwrap().is_empty()),
            (TurnEnd::Completed, ran),
            "{event}"
        );
        let log = shell.scene.log();
        let told = format!("what runs the {event} hooks crashed");
        assert!(log.contains(&told), "{log}");
    }
}

#[tokio::test]
async fn a_runner_that_does_not_listen_to_an_abort_is_left_behind() {
    let mut shell = shell(&["make test"]);
    shell.scene.options.permissions.mode = PermissionMode::BypassPermissions;
    let hooks = broken("", "PreToolUse");
    shell.scene.options.hooks = Some(hooks.clone());
    let session = Session::create(shell.scene.options()).await.unwrap();
    let abort = async {
        hooks.hanging.reached().await;
        session.abort();
    };
    let (outcome, ()) = tokio::join!(session.run("Test it."), abort);
    assert_eq!(outcome.unwrap().ended, TurnEnd::Interrupted);
    assert!(shell.ran.lock().unwrap().is_empty());
}

#[tokio::test]
async fn hooks_are_told_that_a_history_was_cleared_or_compacted_before_the_next_prompt() {
    let long = "many words ".repeat(2_000);
    let script = Script::new().reply(long).reply("Short.").reply("They talked.").reply("Yes.").reply("New.");
    let mut scene = Scene::new(script);
    scene.options.context_window = 100_000;
    let hooks = hooks_on(&mut scene, ScriptedHooks::new());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    session.run("Be short.").await.unwrap();
    session.compact(None).await.unwrap();
    session.run("Go on?").await.unwrap();
    session.clear_history().unwrap();
    session.run("Anew.").await.unwrap();
    let starts: Vec<(usize, HookCall)> = hooks
        .calls()
        .into_iter()
        .enumerate()
        .filter(|(_, call)| matches!(call, HookCall::SessionStart { .. }))
        .collect();
    let sources: Vec<_> = starts.iter().map(|(_, call)| call.clone()).collect();
    let start = |source| HookCall::SessionStart { source };
    let expected =
        [start(SessionSource::Startup), start(SessionSource::Compact), start(SessionSource::Clear)];
    assert_eq!(sources, expected);
    let next = |at: usize| hooks.events()[starts[at].0 + 1];
    assert_eq!((next(1), next(2)), ("UserPromptSubmit", "UserPromptSubmit"));
}

#[tokio::test]
async fn a_hook_before_a_compaction_may_end_the_turn_that_needs_it() {
    let mut scene =
        Scene::new(Script::new().reply(Reply::new().text("many words ".repeat(2_600)).without_usage()));
    scene.options.context_window = 6_000;
    hooks_on(&mut scene, ScriptedHooks::new().always("PreCompact", stopping("save it first")));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    let outcome = session.run("And?").await.unwrap();
    assert_eq!((outcome.ended, outcome.stopped.as_deref()), (TurnEnd::Stopped, Some("save it first")));
    assert_eq!(scene.provider.requests().len(), 1);
}
