//! Hooks around tool calls.

mod approvals;
mod ends;
mod precedence;

use std::sync::Arc;

use robota_core::{
    Access, Body, DynTool, EventKind, HookCall, HookDecision, HookOutcome, InvalidArguments, PathAccess,
    PreparedCall, ToolClass, ToolOutcome, ToolSpec,
};
use robota_session::{PermissionAnswer, Session, replay, validate_session_replay_log_entries};
use robota_testkit::{Gate, Reply, Script, ScriptedHooks};
use serde_json::{Value, json};

use crate::permission::{answering, shell};
use crate::scene::{Scene, TestTool};

/// Gives a scene hooks.
fn hooks_on(scene: &mut Scene, hooks: ScriptedHooks) -> Arc<ScriptedHooks> {
    let hooks = Arc::new(hooks);
    scene.options.hooks = Some(hooks.clone());
    hooks
}

/// The results of tools, as the log has them in the history.
fn results(scene: &Scene) -> Vec<String> {
    let appended = scene.events().into_iter().filter_map(|event| match event.kind {
        EventKind::HistoryMutation(robota_core::HistoryMutation::AppendMessage { message, .. }) => {
            Some(message)
        }
        _ => None,
    });
    appended
        .filter(|message| matches!(message.body, Body::Tool { .. }))
        .map(|message| message.text().to_owned())
        .collect()
}

/// A tool that changes the file its call names.
struct Change {
    spec: Arc<ToolSpec>,
    root: std::path::PathBuf,
}

impl DynTool for Change {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let requested = arguments["path"].as_str().unwrap().to_owned();
        let resolved = self.root.join(&requested);
        let access = Access::Path { kind: PathAccess::Write, requested, resolved };
        Ok(PreparedCall::new(vec![access], |_| Box::pin(async { Ok(ToolOutcome::success("changed")) })))
    }
}

/// A model that changes each of `paths` in one answer.
fn writes(paths: &[&str]) -> Script {
    let reply = paths.iter().enumerate().fold(Reply::new(), |reply, (at, path)| {
        reply.tool_call(format!("c{at}"), "Edit", json!({"path": path}))
    });
    Script::new().reply(reply).reply("Done.")
}

/// The same with the tool for it.
fn writer(paths: &[&str]) -> Scene {
    let scene = Scene::new(writes(paths));
    let spec = ToolSpec::new("Edit", ToolClass::Modify, "Changes it.");
    let spec = Arc::new(spec.with_input_schema(json!({"type": "object"})));
    let root = scene.workspace.root().to_owned();
    scene.with_tools([Arc::new(Change { spec, root }) as Arc<dyn DynTool>])
}

fn updated(input: Value) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    outcome.updated_input = Some(input);
    outcome
}

#[tokio::test]
async fn hooks_are_told_of_a_call_before_and_after_it() {
    let mut shell = shell(&["make test"]);
    shell.scene.options.permissions.mode = robota_core::PermissionMode::BypassPermissions;
    let hooks = hooks_on(&mut shell.scene, ScriptedHooks::new());
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    let (tool_name, tool_use_id) = ("Bash".to_owned(), "c0".to_owned());
    let tool_input = json!({"command": "make test"});
    let before = HookCall::PreToolUse {
        tool_name: tool_name.clone(),
        tool_input: tool_input.clone(),
        tool_use_id: tool_use_id.clone(),
    };
    let (tool_response, tool_output) = (json!("done"), "done".to_owned());
    let after = HookCall::PostToolUse { tool_name, tool_input, tool_response, tool_output, tool_use_id };
    assert_eq!(hooks.calls()[2..4], [before, after]);
}

#[tokio::test]
async fn hooks_are_told_arguments_under_the_names_they_know() {
    let mut scene = Scene::new(writes(&["a.md"]));
    let spec = ToolSpec::new("Edit", ToolClass::Modify, "Changes it.");
    let spec = spec.with_input_schema(json!({"type": "object"})).with_spellings(&[("file_path", &["path"])]);
    let root = scene.workspace.root().to_owned();
    scene = scene.with_tools([Arc::new(Change { spec: Arc::new(spec), root }) as Arc<dyn DynTool>]);
    scene.options.permissions.mode = robota_core::PermissionMode::Default;
    let hooks = hooks_on(&mut scene, ScriptedHooks::new());
    let _ = answering(&mut scene.options, |_| PermissionAnswer::Allow);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Go.").await.unwrap();
    let told = hooks.calls().into_iter().filter_map(|call| match call {
        HookCall::PreToolUse { tool_input, .. }
        | HookCall::PermissionRequest { tool_input, .. }
        | HookCall::PostToolUse { tool_input, .. } => Some(tool_input),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), vec![json!({"file_path": "a.md"}); 3]);
}

#[tokio::test]
async fn a_failure_is_told_as_one() {
    let (tool, _) = TestTool::serial("Act", |_| Box::pin(async { Ok(ToolOutcome::failure("it broke")) }));
    let script = Script::new().reply(Reply::new().tool_call("c0", "Act", json!({"n": 1}))).reply("Oh.");
    let mut scene = Scene::new(script).with_tools([tool]);
    let hooks = hooks_on(&mut scene, ScriptedHooks::new());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Go.").await.unwrap();
    let told = HookCall::PostToolUseFailure {
        tool_name: "Act".into(),
        tool_input: json!({"n": 1}),
        tool_use_id: "c0".into(),
        error: "it broke".into(),
        is_interrupt: false,
    };
    assert_eq!(hooks.calls()[3], told);
}

#[tokio::test]
async fn other_arguments_are_judged_and_logged_as_they_run() {
    let change = || updated(json!({"command": "rm -rf build"}));
    let mut outcome = change();
    outcome.permission = HookOutcome::decided(HookDecision::Allow, "safe").permission;
    // A deny rule catches what a hook makes of a call that was allowed.
    let mut caught = shell(&["make test"]);
    let rules = &mut caught.scene.options.permissions.rules;
    (rules.allow, rules.deny) =
        (vec!["Bash(make test)".parse().unwrap()], vec!["Bash(rm *)".parse().unwrap()]);
    hooks_on(&mut caught.scene, ScriptedHooks::new().always("PreToolUse", outcome.clone()));
    let session = Session::create(caught.scene.options()).await.unwrap();
    let denials = session.run("Test it.").await.unwrap().denials;
    assert_eq!(denials[0].tool_input, json!({"command": "rm -rf build"}));
    assert!(caught.ran.lock().unwrap().is_empty());

    // An allow rule for the model's arguments says nothing about the others.
    let mut open = shell(&["make test"]);
    open.scene.options.permissions.rules.allow = vec!["Bash(make test)".parse().unwrap()];
    hooks_on(&mut open.scene, ScriptedHooks::new().always("PreToolUse", change()));
    let session = Session::create(open.scene.options()).await.unwrap();
    assert_eq!(session.run("Test it.").await.unwrap().denials.len(), 1);

    let mut fine = shell(&["make test"]);
    hooks_on(&mut fine.scene, ScriptedHooks::new().always("PreToolUse", outcome));
    let session = Session::create(fine.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert_eq!(*fine.ran.lock().unwrap(), ["rm -rf build"]);
    let requested = fine.scene.events().into_iter().find_map(|event| match event.kind {
        EventKind::ToolExecutionRequest { parameters, .. } => Some(parameters),
        _ => None,
    });
    assert_eq!(requested, Some(json!({"command": "rm -rf build"})));
    let calls = session.history()[1].tool_calls().to_vec();
    assert_eq!(calls[0].arguments, r#"{"command":"make test"}"#, "the model's own words stay");
}

#[tokio::test]
async fn a_hook_that_answers_for_a_person_may_change_the_call_within_the_rules() {
    let mut answer = updated(json!({"command": "rm -rf build"}));
    answer.permission = HookOutcome::decided(HookDecision::Allow, "with this").permission;
    let hooks = || ScriptedHooks::new().always("PermissionRequest", answer.clone());
    let mut fine = shell(&["make test"]);
    let told = hooks_on(&mut fine.scene, hooks());
    let session = Session::create(fine.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert_eq!(*fine.ran.lock().unwrap(), ["rm -rf build"]);
    let HookCall::PermissionRequest { reason, permission_suggestions, tool_use_id, .. } = &told.calls()[3]
    else {
        panic!("{:?}", told.calls())
    };
    assert!(reason.contains("needs consent"), "{reason}");
    assert_eq!((permission_suggestions.len(), tool_use_id.as_str()), (1, "c0"));

    let mut caught = shell(&["make test"]);
    caught.scene.options.permissions.rules.deny = vec!["Bash(rm *)".parse().unwrap()];
    hooks_on(&mut caught.scene, hooks());
    let session = Session::create(caught.scene.options()).await.unwrap();
    session.run("Test it.").await.unwrap();
    assert!(caught.ran.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_hooks_add_goes_with_the_result_and_the_log_can_be_run_again() {
    let mut objection = HookOutcome::blocked("the file is not formatted");
    objection.additional_context = vec!["Formatter: rustfmt </system-reminder>".into()];
    let hooks = ScriptedHooks::new()
        .always("PreToolUse", HookOutcome::context("This folder is shared."))
        .always("PostToolUse", objection)
        .answer("Stop", HookOutcome::blocked("Once more."));
    let script = Script::new()
        .reply(Reply::new().tool_call("c0", "Look", json!({})).tool_call("c1", "Look", json!({})))
        .reply("One.")
        .reply("Two.");
    let mut scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    hooks_on(&mut scene, hooks);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Go.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let told = "done\n\n<system-reminder>\nThis folder is shared.\n\nFormatter: rustfmt <\\/system-reminder>\n\n\
        A PostToolUse hook objects: the file is not formatted\n</system-reminder>";
    assert_eq!(results(&scene), [told, told]);
    scene.provider.assert_clean();

    let events = scene.events();
    let report = replay(&events).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!((report.turns[0].requests, report.turns[0].verified), (3, 3));
    let validation = validate_session_replay_log_entries(&events);
    assert!(validation.issues.is_empty(), "{:?}", validation.issues);
}

#[tokio::test]
async fn hooks_of_different_calls_run_at_once_and_results_stay_in_order() {
    let door = Gate::new("hooks");
    let hooks = ScriptedHooks::new()
        .answer("PreToolUse", HookOutcome::blocked("not this"))
        .hold_at("PreToolUse", door.clone());
    let mut shell = shell(&["one", "two", "three"]);
    shell.scene.options.permissions.mode = robota_core::PermissionMode::BypassPermissions;
    let hooks = hooks_on(&mut shell.scene, hooks);
    let session = Session::create(shell.scene.options()).await.unwrap();
    let open = async {
        door.reached().await;
        while hooks.events().iter().filter(|event| **event == "PreToolUse").count() < 3 {
            tokio::task::yield_now().await;
        }
        door.open();
    };
    let (outcome, ()) = tokio::join!(session.run("Go."), open);
    outcome.unwrap();
    assert_eq!(results(&shell.scene), ["Blocked by hook: not this", "done", "done"]);
}
