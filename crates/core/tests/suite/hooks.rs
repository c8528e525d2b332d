//! The hook engine as a session calls it, with executors that a test holds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use robota_core::{
    HookAction, HookCall, HookDecision, HookEngine, HookEngineOptions, HookEvent, HookExecutor,
    HookExecutors, HookFailure, HookFailurePolicy, HookInput, HookOrigin, HookOutcome, HookReply, HookRunner,
    HookScope, HookTask, HooksConfig, PermissionMode,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Runs commands that are numbers: they print what is left of the line after so many seconds.
#[derive(Default)]
struct Pretended {
    told: Mutex<Vec<(String, String)>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl HookExecutor for Pretended {
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        async move {
            let HookAction::Command { command } = task.action else { unreachable!("a command") };
            self.told.lock().unwrap().push((command.clone(), task.json.to_owned()));
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let (seconds, text) = command.split_once(' ').unwrap();
            let wait = tokio::time::sleep(Duration::from_secs(seconds.parse().unwrap()));
            let waited = cancel.run_until_cancelled(wait).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            match (waited, text) {
                (None, _) => Err(HookFailure::new("was told to end")),
                (_, "fail") => {
                    Err(HookFailure::new("has failed").because(std::io::Error::other("disk full")))
                }
                (_, text) => {
                    Ok(HookReply::Output { code: 0, stdout: text.to_owned(), stderr: String::new() })
                }
            }
        }
        .boxed()
    }
}

/// Does not heed its token.
struct Deaf;

impl HookExecutor for Deaf {
    fn execute<'a>(
        &'a self,
        _: HookTask<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        std::future::pending().boxed()
    }
}

fn config(scope: HookScope, hooks: &Value) -> HooksConfig {
    let place = if scope == HookScope::User { "/h/settings.json" } else { "/p/settings.json" };
    let (config, warnings) =
        HooksConfig::from_value(hooks, &HookOrigin { place: place.into(), scope }).unwrap();
    assert_eq!(warnings, []);
    config
}

/// One group for every event of the test, with a timeout of 10 s for each.
fn commands(scope: HookScope, matcher: &str, commands: &[&str]) -> HooksConfig {
    let hooks: Vec<_> = commands
        .iter()
        .map(|command| json!({"type": "command", "command": command, "timeout": 10}))
        .collect();
    let group = json!([{"matcher": matcher, "hooks": hooks}]);
    config(scope, &json!({"PreToolUse": group, "UserPromptSubmit": group}))
}

fn engine(config: HooksConfig, failure: Option<HookFailurePolicy>) -> (Arc<Pretended>, HookEngine) {
    let pretended = Arc::new(Pretended::default());
    let executors = HookExecutors { command: Some(pretended.clone()), ..HookExecutors::default() };
    (pretended, HookEngine::new(config, executors, HookEngineOptions { failure }))
}

fn happens(call: HookCall) -> HookInput {
    HookInput::new("s1".parse().unwrap(), "/p", PermissionMode::Default, call)
}

fn prompt() -> HookInput {
    happens(HookCall::UserPromptSubmit { prompt: "hello".into() })
}

fn tool(name: &str) -> HookInput {
    happens(HookCall::PreToolUse {
        tool_name: name.into(),
        tool_input: json!({"command": "ls"}),
        tool_use_id: "t1".into(),
    })
}

async fn run(engine: &HookEngine, input: &HookInput) -> HookOutcome {
    engine.run(input, &CancellationToken::new()).await
}

#[tokio::test(start_paused = true)]
async fn hooks_run_at_the_same_time_and_speak_in_order() {
    let (pretended, engine) = engine(commands(HookScope::User, "", &["3 a", "1 b", "2 c"]), None);
    let start = Instant::now();
    let outcome = run(&engine, &prompt()).await;
    assert_eq!(outcome.additional_context, ["a", "b", "c"]);
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    let told = pretended.told.lock().unwrap().clone();
    let input: Value = serde_json::from_str(&told[0].1).unwrap();
    let expected = json!({"session_id": "s1", "cwd": "/p", "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit", "prompt": "hello"});
    assert_eq!(input, expected);
}

#[tokio::test(start_paused = true)]
async fn sixteen_run_at_once_and_each_has_its_own_deadline() {
    let lines: Vec<_> = (0..40).map(|at| format!("6 {at}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let (pretended, engine) = engine(commands(HookScope::User, "", &lines), None);
    let start = Instant::now();
    let outcome = run(&engine, &prompt()).await;
    assert_eq!((outcome.additional_context.len(), outcome.failures), (40, vec![]));
    assert_eq!(pretended.most.load(Ordering::SeqCst), 16);
    assert_eq!(start.elapsed(), Duration::from_secs(18));
}

#[tokio::test]
async fn matchers_choose_and_other_events_cost_nothing() {
    let (pretended, engine) = engine(commands(HookScope::User, "Bash|Edit", &["0 {}"]), None);
    assert_eq!(run(&engine, &tool("Write")).await, HookOutcome::default());
    assert_eq!(
        run(&engine, &happens(HookCall::StopFailure { reason: "r".into() })).await,
        HookOutcome::default()
    );
    assert!(pretended.told.lock().unwrap().is_empty());
    run(&engine, &tool("Edit")).await;
    assert_eq!(pretended.told.lock().unwrap().len(), 1);
    assert!(!engine.is_empty());
    assert!(
        HookEngine::new(HooksConfig::default(), HookExecutors::default(), HookEngineOptions::default())
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn layers_are_joined_and_what_both_write_runs_once_as_the_users() {
    let hooks = HooksConfig::join([
        commands(HookScope::Project, "", &["0 same", "20 slow"]),
        commands(HookScope::User, "*", &["0 same", "20 slow", "0 mine"]),
    ]);
    let (pretended, engine) = engine(hooks, None);
    assert_eq!(run(&engine, &prompt()).await.additional_context, ["same", "mine"]);
    assert_eq!(pretended.told.lock().unwrap().len(), 3);
    let outcome = run(&engine, &tool("Bash")).await;
    assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
    assert_eq!(
        outcome.failures,
        ["The PreToolUse hook `20 slow` (in /h/settings.json) took longer than its timeout of 10 s."]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_guard_of_the_user_lets_nothing_through() {
    use HookFailurePolicy::{Closed, Open};
    let failure = "The PreToolUse hook `0 fail` (in /h/settings.json) has failed: disk full.";
    let cases = [
        (HookScope::User, None, true),
        (HookScope::User, Some(Open), false),
        (HookScope::Project, None, false),
        (HookScope::Project, Some(Closed), true),
    ];
    for (scope, policy, denies) in cases {
        let allow = r#"0 {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}"#;
        let (_, engine) = engine(commands(scope, "", &["0 fail", allow]), policy);
        let outcome = run(&engine, &tool("Bash")).await;
        let permission = outcome.permission.unwrap();
        assert_eq!(permission.decision == HookDecision::Deny, denies, "{scope:?} {policy:?}");
        assert_eq!(outcome.failures.len(), 1);
        assert_eq!(outcome.updated_input.is_some(), !denies);
        if (scope, denies) == (HookScope::User, true) {
            assert_eq!(outcome.failures, [failure]);
            let expected = format!(
                "A hook could not judge the call, so it does not run. {failure} Mend the hook, or let calls run \
                 when hooks fail with the setting \"hookFailure\": \"open\"."
            );
            assert_eq!(permission.reason.unwrap(), expected);
        }
        // Where nothing is judged, a failure is only reported.
        let outcome = run(&engine, &prompt()).await;
        assert_eq!((outcome.block, outcome.failures.len()), (None, 1));
    }
}

#[tokio::test]
async fn a_type_that_nothing_runs_is_a_failure() {
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is it safe?"}]}]});
    let (_, engine) = engine(config(HookScope::User, &hooks), None);
    let outcome = run(&engine, &tool("Bash")).await;
    assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
    let expected = "The PreToolUse hook with the prompt `Is it safe?` (in /h/settings.json) cannot run: nothing \
                    here runs hooks of its type.";
    assert_eq!(outcome.failures, [expected]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_hooks_end_early_and_their_call_does_not_run() {
    let cancel = CancellationToken::new();
    let (pretended, attentive) = engine(commands(HookScope::User, "", &["5 a"]), None);
    let deaf = HookExecutors { command: Some(Arc::new(Deaf)), ..HookExecutors::default() };
    let deaf = HookEngine::new(commands(HookScope::User, "", &["5 a"]), deaf, HookEngineOptions::default());
    let start = Instant::now();
    let abort = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let input = tool("Bash");
    let (outcome, other, ()) = tokio::join!(attentive.run(&input, &cancel), deaf.run(&input, &cancel), abort);
    let expected =
        HookOutcome::decided(HookDecision::Deny, "The hooks were cancelled before they had judged the call.");
    assert_eq!((&outcome, &other), (&expected, &expected));
    // One second until the token fires, and three for those that do not heed it.
    assert_eq!(start.elapsed(), Duration::from_secs(4));
    assert_eq!(attentive.run(&prompt(), &cancel).await, HookOutcome::default());
    assert_eq!(pretended.told.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn variables_of_the_group_are_handed_on() {
    struct Variables(Mutex<BTreeMap<String, String>>);
    impl HookExecutor for Variables {
        fn execute<'a>(
            &'a self,
            task: HookTask<'a>,
            _: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
            self.0.lock().unwrap().clone_from(task.env);
            std::future::ready(Ok(HookReply::Context("seen".into()))).boxed()
        }
    }
    let seen = Arc::new(Variables(Mutex::default()));
    let hooks =
        json!({"UserPromptSubmit": [{"env": {"A": "1"}, "hooks": [{"type": "command", "command": "x"}]}]});
    let executors = HookExecutors { command: Some(seen.clone()), ..HookExecutors::default() };
    let engine = HookEngine::new(config(HookScope::User, &hooks), executors, HookEngineOptions::default());
    assert_eq!(run(&engine, &prompt()).await, HookOutcome::context("seen"));
    assert_eq!(*seen.0.lock().unwrap(), BTreeMap::from([("A".to_owned(), "1".to_owned())]));
}

#[test]
fn the_page_about_hooks_has_every_event() {
    let (events, _) = include_str!("../../../../docs/hooks.md").split_once("## What hooks answer").unwrap();
    for event in HookEvent::ALL {
        assert_eq!(events.matches(&format!("\n| `{event}` | ")).count(), 1, "{event}");
    }
}
