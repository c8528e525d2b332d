//! Who decides about tool calls.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{
    Access, DynTool, EventKind, InvalidArguments, PermissionMode, PermissionResolution, PreparedCall,
    ToolClass, ToolOutcome, ToolSpec, TurnEnd,
};
use robota_session::{
    ExternalApproval, PermissionAnswer, PermissionRequest, ReviewDecision, Session, SessionOptions, Spinner,
    Subscription, TerminalApproval, TerminalOutput,
};
use robota_testkit::{Gate, Reply, Script};
use serde_json::json;

use crate::scene::{Scene, wait_for};

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

pub(crate) struct Shell {
    pub(crate) scene: Scene,
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
}

/// A model that calls Bash with each of `commands` at once.
pub(crate) fn shell(commands: &[&str]) -> Shell {
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

pub(crate) fn answering(
    options: &mut SessionOptions,
    answer: impl Fn(&PermissionRequest) -> PermissionAnswer + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    options.permission_handler = Some(Arc::new(move |request: PermissionRequest| {
        count.fetch_add(1, Ordering::SeqCst);
        let answer = answer(&request);
        Box::pin(async move { answer }) as BoxFuture<'static, PermissionAnswer>
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
        }) as BoxFuture<'static, PermissionAnswer>
    }));
    let session = Arc::new(Session::create(shell.scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Test it.").await }
    });
    gate.reached().await;
    session.abort();
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(outcome.ended, TurnEnd::Interrupted);
    assert_eq!(shell.ran.lock().unwrap().len(), 0);
}

/// Waits for the question about the call `id`, which a client sees in the stream.
async fn question(events: &mut Subscription, id: &str) {
    let event = wait_for(events, "permission_request").await;
    let json = serde_json::to_value(&event.kind).unwrap();
    assert_eq!((json["toolCallId"].as_str(), json["toolName"].as_str()), (Some(id), Some("Bash")));
}

#[tokio::test]
async fn a_program_decides_by_the_id_of_the_call() {
    let mut shell = shell(&["make test", "make all", "rm -rf build"]);
    shell.scene.options.permission_handler = Some(Arc::new(ExternalApproval));
    let session = Arc::new(Session::create(shell.scene.options()).await.unwrap());
    let mut events = session.subscribe();
    assert!(!session.notify_approval("c0", ReviewDecision::Approved), "nothing waits yet");
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Test it.").await }
    });
    question(&mut events, "c0").await;
    assert_eq!(session.pending_approvals(), ["c0"]);
    assert!(!session.notify_approval("c9", ReviewDecision::Approved), "another call");
    assert!(session.notify_approval("c0", ReviewDecision::Approved));
    question(&mut events, "c1").await;
    assert!(session.notify_approval("c1", ReviewDecision::Denied));
    question(&mut events, "c2").await;
    assert!(session.notify_approval("c2", ReviewDecision::Abort));
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(outcome.ended, TurnEnd::Interrupted);
    assert_eq!(*shell.ran.lock().unwrap(), ["make test"]);
    assert!(session.pending_approvals().is_empty());
    let resolutions: Vec<_> = shell
        .scene
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::PermissionResolved { tool_call_id, resolution, .. } => {
                Some((tool_call_id, resolution))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("c0".to_owned(), PermissionResolution::Allowed),
        ("c1".to_owned(), PermissionResolution::Denied),
        ("c2".to_owned(), PermissionResolution::Aborted),
    ];
    assert_eq!(resolutions, expected);
}

/// A terminal on which somebody chooses what was planned.
struct FakeTerminal {
    shown: Mutex<String>,
    choices: Mutex<Vec<Option<usize>>>,
}

struct NoSpinner;

impl Spinner for NoSpinner {
    fn update(&mut self, _: &str) {}
}

impl TerminalOutput for FakeTerminal {
    fn write(&self, text: &str) {
        self.shown.lock().unwrap().push_str(text);
    }

    fn prompt<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn select<'a>(&'a self, options: &'a [String], _: usize) -> BoxFuture<'a, Option<usize>> {
        self.write(&format!("{options:?}\n"));
        let choice = self.choices.lock().unwrap().remove(0);
        Box::pin(async move { choice })
    }

    fn spinner(&self, _: &str) -> Box<dyn Spinner> {
        Box::new(NoSpinner)
    }
}

#[tokio::test]
async fn a_terminal_shows_what_would_run_and_takes_the_answer() {
    let mut shell = shell(&["make test", "rm -rf \u{1b}[2Jbuild", "ls"]);
    let choices = Mutex::new(vec![Some(0), Some(9), None]);
    let terminal = Arc::new(FakeTerminal { shown: Mutex::default(), choices });
    shell.scene.options.permission_handler = Some(Arc::new(TerminalApproval::new(terminal.clone())));
    let session = Session::create(shell.scene.options()).await.unwrap();
    let outcome = session.run("Test it.").await.unwrap();
    assert_eq!(*shell.ran.lock().unwrap(), ["make test"], "no answer, or nonsense, is no");
    assert_eq!(outcome.denials.len(), 2);
    let shown = terminal.shown.lock().unwrap();
    assert!(shown.contains(r#"Bash wants to run: {"command":"make test"}"#), "{shown}");
    assert!(shown.contains("Allow Bash(make test"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}
