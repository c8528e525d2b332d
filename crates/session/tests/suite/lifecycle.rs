//! Hooks, reminders, steering and callbacks: what a session does around its turns.

use std::sync::{Arc, Mutex};

use robota_core::{
    ContextState, ErrorKind as CoreErrorKind, EventKind, HookCall, HookOutcome, Part, PermissionMode,
    ProviderErrorKind, SessionSource, ToolOutcome, TurnAbortReason, TurnEnd,
};
use robota_session::{CompactEvent, ErrorKind, Session, SessionObserver, SessionOptions, ToolExecution};
use robota_testkit::{Gate, Reply, Script, ScriptedHooks};
use serde_json::json;

use crate::permission::shell;
use crate::scene::{Scene, TestTool, id, names, wait_for};

/// A scene with hooks.
fn hooked(script: impl Into<Script>, hooks: ScriptedHooks) -> (Scene, Arc<ScriptedHooks>) {
    let mut scene = Scene::new(script);
    let hooks = Arc::new(hooks);
    scene.options.hooks = Some(hooks.clone());
    (scene, hooks)
}

/// A model that refuses a request for its length.
fn too_long() -> Reply {
    Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength)
}

/// The texts of the parts of the user's messages, as the model was sent them last.
fn reminders(scene: &Scene) -> Vec<String> {
    let requests = scene.provider.requests();
    let Some(last) = requests.last() else { return Vec::new() };
    let parts = last.messages.iter().flat_map(|message| match &message.body {
        robota_core::Body::User { parts, .. } => parts.clone(),
        _ => Vec::new(),
    });
    parts.filter_map(|part| if let Part::Text { text } = part { Some(text) } else { None }).collect()
}

#[tokio::test]
async fn hooks_are_told_of_a_session_from_its_start_to_its_end() {
    let (scene, hooks) = hooked(Script::new().reply("Hello."), ScriptedHooks::new());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    session.shutdown("prompt_input_exit").await.unwrap();
    session.shutdown("other").await.unwrap();
    let stop = HookCall::Stop {
        response: "Hello.".into(),
        last_assistant_message: "Hello.".into(),
        stop_hook_active: false,
    };
    let expected = [
        HookCall::SessionStart { source: SessionSource::Startup },
        HookCall::UserPromptSubmit { prompt: "Hi".into() },
        stop,
        HookCall::SessionEnd { reason: "prompt_input_exit".into() },
    ];
    assert_eq!(hooks.calls(), expected);
    let input = &hooks.inputs()[0];
    assert_eq!(input.session_id, id("s"));
    assert_eq!(input.cwd, scene.workspace.root());
    assert!(input.transcript_path.as_deref().unwrap().ends_with("logs/s.jsonl"));
    assert!(!names(&scene.events()).contains(&"hook".to_owned()), "hooks without effect leave no trace");
}

#[tokio::test]
async fn what_hooks_add_stands_beside_the_users_words() {
    let hooks = ScriptedHooks::new()
        .always("SessionStart", HookOutcome::context("The build is broken."))
        .answer("UserPromptSubmit", HookOutcome::context("The user is in a hurry."));
    let (scene, _) = hooked(Script::new().reply("One.").reply("Two."), hooks);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    session.run("Again").await.unwrap();
    let told = "<system-reminder>\nThe build is broken.\n\nThe user is in a hurry.\n</system-reminder>";
    assert_eq!(reminders(&scene), [told]);
    assert_eq!(session.history()[0].text(), "Hi");
}

#[tokio::test]
async fn a_prompt_that_a_hook_stops_reaches_neither_model_nor_history() {
    let hooks = ScriptedHooks::new().answer("UserPromptSubmit", HookOutcome::blocked("No secrets, please."));
    let (scene, _) = hooked(Script::new().reply("Hello."), hooks);
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("My password is x").await.unwrap();
    assert_eq!((outcome.ended, outcome.text.as_str()), (TurnEnd::Blocked, "No secrets, please."));
    assert!(session.history().is_empty());
    assert!(scene.provider.requests().is_empty());
    let events = scene.events();
    assert_eq!(names(&events), ["session_init", "user", "hook", "complete"]);
    assert_eq!(session.run("Hi").await.unwrap().ended, TurnEnd::Completed);
}

#[tokio::test]
async fn a_stop_hook_sends_the_model_on_and_not_for_ever() {
    let mut script = Script::new();
    for answer in 0..9 {
        script = script.reply(format!("Answer {answer}."));
    }
    let hooks = ScriptedHooks::new().always("Stop", HookOutcome::blocked("Run the tests."));
    let (scene, hooks) = hooked(script, hooks);
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("Do it.").await.unwrap();
    assert_eq!((outcome.ended, outcome.text.as_str(), outcome.rounds), (TurnEnd::Completed, "Answer 8.", 9));
    let active = |call: &HookCall| matches!(call, HookCall::Stop { stop_hook_active: true, .. });
    assert_eq!(hooks.calls().iter().filter(|call| active(call)).count(), 8);
    assert_eq!(session.history()[2].text(), "Run the tests.");
    scene.provider.assert_clean();
}

#[tokio::test]
async fn a_failed_turn_is_told_and_remembered() {
    let script = Script::new()
        .reply(Reply::error(401, "no such key").provider_kind(ProviderErrorKind::Authentication));
    let (scene, hooks) = hooked(script, ScriptedHooks::new());
    let session = Session::create(scene.options()).await.unwrap();
    let error = session.run("Hi").await.unwrap_err();
    let kind = CoreErrorKind::Provider(ProviderErrorKind::Authentication);
    assert_eq!(error.kind(), ErrorKind::Engine(kind));
    assert!(matches!(&hooks.calls()[2], HookCall::StopFailure { reason } if *reason == error.to_string()));
    assert_eq!(session.errors().len(), 1);
    assert_eq!(session.errors()[0].message, error.to_string());
}

#[tokio::test]
async fn the_note_about_a_run_is_sent_when_it_changes() {
    let mut scene = Scene::new(Script::new().reply("One.").reply("Two."));
    scene.options.context_note = Some("Date: Monday".into());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    session.run("Again").await.unwrap();
    let monday = "<system-reminder>\nDate: Monday\n</system-reminder>";
    assert_eq!(reminders(&scene), [monday]);
    session.shutdown("other").await.unwrap();

    scene.options.context_note = Some("Date: Tuesday".into());
    let (provider, options) = scene.options_with(Script::new().reply("Three."));
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    resumed.run("And now?").await.unwrap();
    scene.provider = provider;
    assert_eq!(reminders(&scene), [monday, "<system-reminder>\nDate: Tuesday\n</system-reminder>"]);
}

#[tokio::test]
async fn a_run_that_begins_in_its_folder_again_says_so_after_commands() {
    let mut scene = shell(&["cd src"]).scene;
    scene.options.permissions.mode = PermissionMode::BypassPermissions;
    scene.options.context_note = Some("Working directory: /w".into());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    session.shutdown("other").await.unwrap();
    let note = "<system-reminder>\nWorking directory: /w\n</system-reminder>";
    assert_eq!(reminders(&scene), [note]);

    for prompts in [2, 1] {
        let (provider, options) = scene.options_with(Script::new().reply("One.").reply("Two."));
        let resumed = Session::resume(options, &id("s")).await.unwrap();
        for _ in 0..prompts {
            resumed.run("Where am I?").await.unwrap();
        }
        resumed.shutdown("other").await.unwrap();
        scene.provider = provider;
        assert_eq!(reminders(&scene), [note, note], "once after the commands");
    }
}

#[tokio::test]
async fn what_the_user_says_meanwhile_is_seen_with_the_next_call() {
    let gate = Gate::new("tool");
    let held = gate.clone();
    let (tool, _) = TestTool::serial("Act", move |_| {
        let held = held.clone();
        Box::pin(async move {
            held.pass().await;
            Ok(ToolOutcome::success("acted"))
        })
    });
    let script =
        Script::new().reply(Reply::new().tool_call("c1", "Act", json!({}))).reply("Done.").reply("More.");
    let scene = Scene::new(script).with_tools([tool]);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    assert!(session.inject_input("too early").is_err());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Act.").await }
    });
    gate.reached().await;
    session.inject_input("Hurry up.").unwrap();
    gate.open();
    let outcome = running.await.unwrap().unwrap();
    assert_eq!((outcome.text.as_str(), outcome.unsent_input.len()), ("Done.", 0));
    let texts: Vec<String> = session.history().iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["Act.", "", "acted", "Hurry up.", "Done."]);
}

#[tokio::test]
async fn input_of_an_aborted_turn_comes_back() {
    let scene = Scene::new(Script::new().reply(Reply::new().text("Begin").hold_at("middle").text("end")));
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Go.").await }
    });
    scene.provider.gate("middle").reached().await;
    session.inject_input("One more thing.").unwrap();
    session.abort_because(TurnAbortReason::Timeout);
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(
        (outcome.ended, outcome.unsent_input),
        (TurnEnd::Interrupted, vec!["One more thing.".to_owned()])
    );
    let reason = scene.events().into_iter().find_map(|event| match event.kind {
        EventKind::Interrupted { reason, .. } => Some(reason),
        _ => None,
    });
    assert_eq!(reason, Some(TurnAbortReason::Timeout));
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl SessionObserver for Notes {
    fn text_delta(&self, delta: &str) {
        self.0.lock().unwrap().push(delta.to_owned());
    }

    fn tool_execution(&self, execution: &ToolExecution) {
        let line = match execution {
            ToolExecution::Start { tool_call_id, tool_name, .. } => {
                format!("start {tool_call_id} {tool_name}")
            }
            ToolExecution::End { tool_call_id, success, denied, error_code, .. } => {
                format!("end {tool_call_id} success={success} denied={denied} {error_code:?}")
            }
            _ => "?".to_owned(),
        };
        self.0.lock().unwrap().push(line);
    }

    fn context_update(&self, state: &ContextState) {
        self.0.lock().unwrap().push(format!("context of {}", state.max_tokens));
    }

    fn compact_event(&self, event: &CompactEvent) {
        assert!(event.after.used_tokens > 0);
        self.0.lock().unwrap().push(format!("compacted {:?}", event.trigger));
    }

    fn compact(&self, summary: &str) {
        self.0.lock().unwrap().push(format!("summary {summary}"));
    }
}

impl Notes {
    fn on(options: &mut SessionOptions) -> Arc<Self> {
        let notes = Arc::new(Self::default());
        options.observer = Some(notes.clone());
        notes
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn callbacks_pair_starts_and_ends_by_id_also_of_calls_that_did_not_run() {
    let reply = Reply::new().tool_call("c1", "Act", json!({})).tool_call("c2", "Act", json!({})).tool_call(
        "c3",
        "Nonsense",
        json!({}),
    );
    let (tool, _) = TestTool::serial("Act", |_| Box::pin(async { Ok(ToolOutcome::success("acted")) }));
    let mut scene = Scene::new(Script::new().reply(reply).reply("Done.")).with_tools([tool]);
    let notes = Notes::on(&mut scene.options);
    scene.options.permissions.rules.deny = vec!["Act".parse().unwrap()];
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Go.").await.unwrap();
    let expected = [
        "context of 0",
        "context of 0",
        "start c1 Act",
        "end c1 success=false denied=true Some(\"permission_denied\")",
        "start c2 Act",
        "end c2 success=false denied=true Some(\"permission_denied\")",
        "start c3 Nonsense",
        "end c3 success=false denied=false Some(\"unknown_tool\")",
        "Done.",
        "context of 0",
    ];
    assert_eq!(notes.taken(), expected);
    assert_eq!(session.tool_usage()["Act"], 2);
}

#[tokio::test]
async fn sessions_that_share_a_provider_keep_their_text_apart() {
    let script = Script::new().respond_with(|request: &robota_testkit::RecordedRequest| {
        Reply::new().text(format!("to {}", request.last_user_text()))
    });
    let mut scene = Scene::new(script);
    let one = Notes::on(&mut scene.options);
    let first = Session::create(scene.options()).await.unwrap();
    let two = Notes::on(&mut scene.options);
    scene.options.session_id = Some(id("t"));
    let second = Session::create(scene.options()).await.unwrap();
    let (a, b) = tokio::join!(first.run("one"), second.run("two"));
    a.unwrap();
    b.unwrap();
    assert!(one.taken().contains(&"to one".to_owned()));
    assert!(two.taken().contains(&"to two".to_owned()));
}

#[tokio::test]
async fn a_session_compacts_when_it_is_told_to() {
    let hooks = ScriptedHooks::new();
    let long = "many words ".repeat(2_000);
    let script = Script::new().reply(long.clone()).reply("Short.").reply("They talked.").reply("Yes.");
    let (mut scene, hooks) = hooked(script, hooks);
    scene.options.context_window = 100_000;
    scene.options.compact_instructions = Some("Keep file names.".into());
    let notes = Notes::on(&mut scene.options);
    let session = Session::create(scene.options()).await.unwrap();
    assert_eq!(session.compact(None).await.unwrap_err().kind(), ErrorKind::Compaction);
    session.run("Talk.").await.unwrap();
    session.run("Be short.").await.unwrap();
    notes.taken();
    let outcome = session.compact(Some("And dates.")).await.unwrap();
    assert_eq!(outcome.summary, "They talked.");
    assert_eq!(notes.taken(), ["summary They talked.", "compacted Manual"]);
    let texts: Vec<String> = session.history().iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["[Context Summary]\nThey talked.", "Be short.", "Short."]);
    let asked = scene.provider.requests()[2].messages[0].text().to_owned();
    assert!(asked.contains("And dates.") && asked.contains("Keep file names."), "{asked}");
    let names_of_hooks = hooks.events();
    assert!(names_of_hooks.contains(&"PreCompact") && names_of_hooks.contains(&"PostCompact"));
    session.run("Go on?").await.unwrap();
    let live = (session.history(), session.full_history(), session.context_state());
    session.shutdown("other").await.unwrap();
    let (_, options) = scene.options_with(Script::new());
    let resumed = Session::resume(options, &id("s")).await.unwrap();
    assert!(resumed.defects().is_empty(), "{:?}", resumed.defects());
    assert_eq!((resumed.history(), resumed.full_history(), resumed.context_state()), live);
}

#[tokio::test]
async fn a_session_compacts_by_itself_before_a_prompt_and_while_it_works() {
    // A model that talks at length, reads two files, and summarises when it has no tools.
    let script = Script::new().respond_with(|request: &robota_testkit::RecordedRequest| {
        let results = request.tool_results().len();
        let reply = Reply::new().without_usage();
        if request.tool_names().is_empty() {
            reply.text("They talked.")
        } else if request.last_user_text() == "Talk." {
            reply.text("many words ".repeat(2_600))
        } else if request.number < 8 {
            reply.tool_call(format!("c{}", request.number), "Read", json!({}))
        } else {
            reply.text(format!("Done, with {results} results in sight."))
        }
    });
    let text = "a line of the file ".repeat(500);
    let (tool, _) = TestTool::serial("Read", move |_| {
        let text = text.clone();
        Box::pin(async move { Ok(ToolOutcome::success(text)) })
    });
    let mut scene = Scene::new(script).with_tools([tool]);
    scene.options.context_window = 6_000;
    let notes = Notes::on(&mut scene.options);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    notes.taken();
    let outcome = session.run("Read it again and again.").await.unwrap();
    assert!(outcome.text.starts_with("Done"), "{}", outcome.text);
    let told = notes.taken();
    let first = told.iter().position(|line| line == "compacted Auto").unwrap();
    let read = told.iter().position(|line| line.starts_with("start")).unwrap();
    assert!(first < read, "before the prompt: {told:?}");
    assert!(told[read..].contains(&"compacted Auto".to_owned()), "while it works: {told:?}");
    assert!(session.history().iter().any(|message| message.text() == "Read it again and again."));
    scene.provider.assert_clean();
}

#[tokio::test]
async fn a_threshold_that_is_switched_off_stays_off() {
    let long = "many words ".repeat(2_600);
    let mut scene = Scene::new(Script::new().reply(Reply::new().text(long).without_usage()).reply("Done."));
    scene.options.context_window = 6_000;
    let session = Session::create(scene.options()).await.unwrap();
    assert_eq!(session.auto_compact_threshold().unwrap().share(), 0.835);
    session.run("Talk.").await.unwrap();
    session.set_auto_compact_threshold(None);
    assert_eq!(session.run("And?").await.unwrap().text, "Done.");
    assert_eq!(scene.provider.requests().len(), 2);
}

#[tokio::test]
async fn a_refusal_for_length_is_answered_with_one_compaction_and_one_retry() {
    let long = "many words ".repeat(500);
    let script = Script::new().reply(long).reply(too_long()).reply("They talked.").reply("Done.");
    let mut scene = Scene::new(script);
    scene.options.context_window = 200_000;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Talk.").await.unwrap();
    assert_eq!(session.run("And?").await.unwrap().text, "Done.");
    assert_eq!(scene.provider.requests().len(), 4);

    let (provider, mut options) =
        scene.options_with(Script::new().reply(too_long()).reply("Talk.").reply(too_long()));
    options.session_id = None;
    let copy = Session::fork(options, &id("s")).await.unwrap();
    let error = copy.run("And now?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Engine(CoreErrorKind::Provider(ProviderErrorKind::ContextLength)));
    assert_eq!(provider.requests().len(), 3, "one retry and no more");
}

#[tokio::test]
async fn an_abort_ends_a_compaction_and_leaves_the_history() {
    let script = Script::new()
        .reply("many words ".repeat(2_000))
        .reply("Short.")
        .reply(Reply::new().text("They").hold_at("summary").text(" talked."));
    let mut scene = Scene::new(script);
    scene.options.context_window = 100_000;
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    session.run("Talk.").await.unwrap();
    session.run("Be short.").await.unwrap();
    let before = session.history();
    let mut events = session.subscribe();
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.compact(None).await }
    });
    wait_for(&mut events, "provider_request").await;
    scene.provider.gate("summary").reached().await;
    assert_eq!(session.run("Now?").await.unwrap_err().kind(), ErrorKind::Busy);
    session.abort();
    assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::Compaction);
    assert_eq!(session.history(), before);
    assert!(!session.is_running());
}
