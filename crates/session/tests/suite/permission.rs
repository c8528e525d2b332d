//! Who decides about tool calls.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use robota_core::{
    Access, DynTool, InvalidArguments, PermissionMode, PreparedCall, ToolClass, ToolOutcome, ToolSpec,
};
use robota_session::{PermissionAnswer, PermissionRequest, Session, SessionOptions};
use robota_testkit::{Gate, Reply, Script};
use serde_json::json;

use crate::scene::Scene;

/// A shell that runs nothing.
struct FakeBash {
    spec: Arc<ToolSpec>,
    cwd: PathBuf,
    ran: Arc<Mutex<Vec<String>>>,
}

impl DynTool for FakeBash {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        let command = arguments["command"].as_str().unwrap().to_owned();
        let access = Access::Command { command: command.clone(), cwd: self.cwd.clone() };
        let ran = self.ran.clone();
        Ok(PreparedCall::new(vec![access], move |_| {
            ran.lock().unwrap().push(command);
            Box::pin(async { Ok(ToolOutcome::success("done")) })
        }))
    }
}

struct Shell {
    scene: Scene,
    ran: Arc<Mutex<Vec<String>>>,
}

/// A model that calls Bash with each of `commands` at once.
fn shell(commands: &[&str]) -> Shell {
    let mut reply = Reply::new();
    for (at, command) in commands.iter().enumerate() {
        reply = reply.tool_call(format!("c{at}"), "Bash", json!({"command": command}));
    }
    let ran = Arc::new(Mutex::new(Vec::new()));
    let spec = ToolSpec::new("Bash", ToolClass::Execute, "Runs it.").read_only();
    let spec = Arc::new(spec.with_input_schema(json!({"type": "object"})));
    let mut scene = Scene::new(Script::new().reply(reply).reply("Done."));
    let cwd = scene.workspace.root().to_owned();
    scene = scene.with_tools([Arc::new(FakeBash { spec, cwd, ran: ran.clone() }) as Arc<dyn DynTool>]);
    scene.options.permissions.mode = PermissionMode::Default;
    Shell { scene, ran }
}

fn answering(
    options: &mut SessionOptions,
    answer: impl Fn(&PermissionRequest) -> PermissionAnswer + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    options.permission_handler = Some(Arc::new(move |request: PermissionRequest| {
        count.fetch_add(1, Ordering::SeqCst);
        let answer = answer(&request);
        Box::pin(async move { answer }) as futures_util::future::BoxFuture<'static, PermissionAnswer>
    }));
    asked
}

#[tokio::test]
async fn without_a_handler_what_would_ask_is_denied_and_listed() {
    let shell = shell(&["make test"]);
    let session = Session::create(shell.scene.options()).await.unwrap();
    let outcome = session.run("Test it.").await.unwrap();
    assert_eq!(shell.ran.lock().unwrap().len(), 0);
    assert_eq!(outcome.denials.len(), 1);
    let denial = &outcome.denials[0];
    assert_eq!((denial.tool_name.as_str(), denial.tool_call_id.as_str()), ("Bash", "c0"));
    assert_eq!(denial.tool_input, json!({"command": "make test"}));
    assert!(shell.scene.log().contains("\"event\":\"permission_denied\""));
}

#[tokio::test]
async fn an_approval_for_the_session_covers_the_same_and_not_the_whole_tool() {
    let mut shell = shell(&["make test", "make test", "rm -rf build"]);
    let asked = answering(&mut shell.scene.options, |request| {
        if request.arguments.contains("make") {
            PermissionAnswer::AllowForSession
        } else {
            PermissionAnswer::Deny { reason: "not that".into() }
        }
    });
    let session = Session::create(shell.scene.options()).await.unwrap();
    let outcome = session.run("Test it.").await.unwrap();
    // Both calls came at once; the second question was settled by the answer to the first.
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(*shell.ran.lock().unwrap(), ["make test", "make test"]);
    assert_eq!(outcome.denials.len(), 1);
    assert!(session.history().iter().any(|message| message.text().contains("not that")));
    assert_eq!(session.session_allowed().len(), 1);
    assert!(session.session_allowed()[0].starts_with("Bash(make test"), "{:?}", session.session_allowed());
    session.clear_session_allowed();
    assert!(session.session_allowed().is_empty());
}

#[tokio::test]
async fn the_mode_can_change_while_the_session_is_open() {
    let shell = shell(&["make test"]);
    let session = Session::create(shell.scene.options()).await.unwrap();
    session.set_permission_mode(PermissionMode::BypassPermissions);
    assert_eq!(session.permission_mode(), PermissionMode::BypassPermissions);
    session.run("Test it.").await.unwrap();
    assert_eq!(*shell.ran.lock().unwrap(), ["make test"]);
}

#[tokio::test]
async fn an_abort_takes_an_open_question_back() {
    let mut shell = shell(&["make test"]);
    let gate = Gate::new("question");
    let held = gate.clone();
    shell.scene.options.permission_handler = Some(Arc::new(move |_: PermissionRequest| {
        let held = held.clone();
        Box::pin(async move {
            held.pass().await;
            PermissionAnswer::Allow
        }) as futures_util::future::BoxFuture<'static, PermissionAnswer>
    }));
    let session = Arc::new(Session::create(shell.scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Test it.").await }
    });
    gate.reached().await;
    session.abort();
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(outcome.ended, robota_core::TurnEnd::Interrupted);
    assert_eq!(shell.ran.lock().unwrap().len(), 0);
}
