//! Large fields of the log, which stand in files of their own.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{
    Body, Event, EventKind, EventSink, History, HistoryHead, Message, Redactor, Timestamp, ToolOutcome,
    TurnEnd, Usage,
};
use robota_session::{
    DefectKind, Journal, JournalOptions, LogFold, LogItem, LogSource, LogWriter, NullStore, OpenLog, Payload,
    PayloadError, PayloadReference, PayloadSource, Session, SessionStore, redacting_filter,
};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool, events, id, names};

const LOG: &str = ".robota/logs/s.jsonl";
pub(crate) const RECORD: &str = ".robota/sessions/s.json";
pub(crate) const PAYLOADS: &str = ".robota/logs/s.payloads";

/// A session in which a tool gives `outcome`, shut down and without its snapshot.
pub(crate) async fn after_a_call(outcome: ToolOutcome) -> (Scene, Vec<robota_core::MessageRef>) {
    let script = Script::new().reply(Reply::new().tool_call("c1", "Look", json!({}))).reply("Seen.");
    let (tool, _) = TestTool::parallel("Look", move |_| {
        let outcome = outcome.clone();
        Box::pin(async move { Ok(outcome) })
    });
    let mut scene = Scene::new(script).with_tools([tool]);
    scene.options.output_budget = 0;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Look.").await.unwrap();
    let history = session.history();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    (scene, history)
}

pub(crate) fn large(letter: &str) -> String {
    letter.repeat(200_000)
}

/// The names of the payload files, in alphabetical order.
pub(crate) fn payloads(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.workspace.path(PAYLOADS)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The head that the log names last.
pub(crate) fn logged_head(events: &[Event]) -> HistoryHead {
    let head = |event: &Event| match &event.kind {
        EventKind::Complete { history, .. } => Some(history.head),
        _ => None,
    };
    events.iter().rev().find_map(head).unwrap()
}

/// All events of the log, payloads in their place, and what is wrong with it.
pub(crate) fn read(scene: &Scene) -> (Vec<Event>, Vec<DefectKind>) {
    let (mut events, mut defects) = (Vec::new(), Vec::new());
    for item in scene.store.read_log(&id("s")).unwrap() {
        match item.unwrap() {
            LogItem::Event(event) => events.push(*event),
            LogItem::Defect(defect) => defects.push(defect.kind),
            other => panic!("{other:?}"),
        }
    }
    (events, defects)
}

#[tokio::test]
async fn a_large_result_stands_apart_and_comes_back_as_it_was() {
    let (scene, history) = after_a_call(ToolOutcome::success(large("x"))).await;
    assert_eq!(history[2].text(), large("x"));
    assert!(scene.log().lines().all(|line| line.len() < 4096));
    let [name] = &payloads(&scene)[..] else { panic!("{:?}", payloads(&scene)) };
    assert!(scene.log().contains(&format!("\"relativePath\":\"s.payloads/{name}\"")));

    let stored = scene.store.load(&id("s")).await.unwrap();
    assert!(stored.defects.is_empty(), "{}", stored.defects);
    assert_eq!(stored.history.messages(), history);
    let (whole, _) = read(&scene);
    assert_eq!(stored.history.reference().head, logged_head(&whole));

    // A log that has everything in its lines reads the same.
    let expanded: String = whole.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    assert_eq!(names(&events(expanded.as_bytes())), names(&whole));
    let mut fold = LogFold::new(id("s"));
    fold.read(expanded.as_bytes()).unwrap();
    let from_expanded = fold.finish();
    assert!(from_expanded.defects.is_empty());
    assert_eq!(from_expanded.history.messages(), history);
    assert_eq!(from_expanded.history.reference(), stored.history.reference());

    let (provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("And?").await.unwrap();
    provider.assert_clean();
    assert_eq!(payloads(&scene).len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn payloads_are_private_and_go_with_their_session() {
    use std::os::unix::fs::PermissionsExt;
    let (scene, _) = after_a_call(ToolOutcome::success(large("x"))).await;
    let mode = |path: String| fs::metadata(scene.workspace.path(&path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(PAYLOADS.to_owned()), 0o700);
    assert_eq!(mode(format!("{PAYLOADS}/{}", payloads(&scene)[0])), 0o600);
    scene.store.delete(&id("s")).await.unwrap();
    assert!(!scene.workspace.path(PAYLOADS).exists());
    assert!(!scene.workspace.path(LOG).exists());
}

fn mutation(history: &mut History, number: usize, text: &str) -> EventKind {
    let body = Body::Tool {
        content: text.to_owned(),
        tool_call_id: format!("c{number}"),
        name: None,
        is_error: false,
        parts: Vec::new(),
    };
    EventKind::HistoryMutation(history.append(Message::with_body(
        format!("m{number}"),
        Timestamp::default(),
        body,
    )))
}

fn complete(history: &History) -> EventKind {
    EventKind::Complete {
        ended: TurnEnd::Completed,
        rounds: 1,
        usage: Usage::default(),
        history: history.reference(),
        duration_ms: 0,
        api_duration_ms: 0,
    }
}

#[tokio::test]
async fn a_thousand_equal_results_are_stored_once() {
    let scene = Scene::new("unused");
    let log = scene.store.create(&id("s")).await.unwrap();
    let journal = Journal::start(JournalOptions::new(id("s")), log);
    let (mut history, text) = (History::default(), "x".repeat(100_000));
    for round in 0..1000 {
        journal.emit(mutation(&mut history, round, &text));
        journal.emit(complete(&history));
        journal.written().await.unwrap();
    }
    journal.close().await;
    assert_eq!(payloads(&scene).len(), 1);
    let log = scene.log();
    let lengths: Vec<usize> = log.lines().map(str::len).collect();
    assert!(lengths[1998] <= lengths[0] + 12 && log.len() < 2_000_000, "{}", log.len());
}

/// Writes down what the journal asks for.
#[derive(Clone, Default)]
struct Recorded {
    steps: Arc<Mutex<Vec<String>>>,
    full: bool,
}

impl LogWriter for Recorded {
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        self.steps.lock().unwrap().push(format!("append {} lines", events(lines).len()));
        Box::pin(async { Ok(()) })
    }

    fn keeps_payloads(&self) -> bool {
        true
    }

    fn put_payloads(&mut self, payloads: Vec<Payload>) -> BoxFuture<'_, io::Result<()>> {
        let sizes: Vec<usize> = payloads.iter().map(|payload| payload.json.len()).collect();
        self.steps.lock().unwrap().push(format!("put {sizes:?}"));
        let outcome = if self.full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) };
        Box::pin(async { outcome })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        self.steps.lock().unwrap().push("sync".to_owned());
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn payloads_are_kept_before_the_lines_that_refer_to_them() {
    let user = |text: &str| EventKind::User { content: text.to_owned(), steering: false };
    for (full, expected) in
        [(false, &["put [200002]", "append 3 lines", "sync"][..]), (true, &["put [200002]"])]
    {
        let writer = Recorded { full, ..Recorded::default() };
        let log = OpenLog::new(Box::new(writer.clone()), 0, "memory");
        let journal = Journal::start(JournalOptions::new(id("s")), Some(log));
        journal.emit(user("small"));
        journal.emit(user(&large("x")));
        let outcome = journal.acknowledge(user(&large("x"))).await;
        assert_eq!(*writer.steps.lock().unwrap(), expected);
        assert_eq!(outcome.map_err(|error| error.code()), if full { Err("STORAGE_ERROR") } else { Ok(()) });
    }
}

#[tokio::test]
async fn what_only_looks_like_a_reference_is_what_it_was() {
    let (scene, _) = after_a_call(ToolOutcome::success(large("x"))).await;
    let sha256 = payloads(&scene)[0].replace(".json", "");
    let path = format!("s.payloads/{sha256}.json");
    let lookalike = json!({
        "kind": "external-payload", "encoding": "json", "sha256": sha256, "byteLength": 200_002, "relativePath": path,
    });
    drop(scene);
    // The tool tells of a log of this very session, in which the reference is right.
    let outcome =
        ToolOutcome::success(lookalike.to_string() + &large("x")).with_structured(lookalike.clone());
    let (scene, history) = after_a_call(outcome).await;
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert!(stored.defects.is_empty(), "{}", stored.defects);
    assert_eq!(stored.history.messages(), history);
    let (events, defects) = read(&scene);
    assert_eq!(defects, []);
    let result = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolExecutionResult { result, .. } => result.clone(),
        _ => None,
    });
    assert_eq!(result, Some(lookalike));
}

#[tokio::test]
async fn payloads_hold_no_secrets() {
    let text = large("x") + " hunter2hunter2 " + &large("y");
    let script = Script::new().reply(Reply::new().tool_call("c1", "Look", json!({}))).reply("Seen.");
    let (tool, _) = TestTool::parallel("Look", move |_| {
        let structured = json!({"apiKey": large("k"), "text": large("t")});
        let outcome = ToolOutcome::success(text.clone()).with_structured(structured);
        Box::pin(async move { Ok(outcome) })
    });
    let mut scene = Scene::new(script).with_tools([tool]);
    scene.options.output_budget = 0;
    scene.options.line_filter = Some(redacting_filter(Redactor::new(["hunter2hunter2"])));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Look.").await.unwrap();
    session.shutdown("other").await.unwrap();
    for (path, content) in scene.workspace.snapshot() {
        assert!(!content.contains("hunter2") && !content.contains("kkkk"), "{path}");
    }
    assert_eq!(payloads(&scene).len(), 2);
    let (events, _) = read(&scene);
    let redacted: Vec<String> = names(&events.into_iter().filter(|event| event.redacted).collect::<Vec<_>>());
    assert_eq!(redacted, ["tool_execution_result", "history_mutation"]);
}

#[tokio::test]
async fn a_session_with_secrets_taken_out_is_resumed_as_often_as_one_likes() {
    for with_snapshot in [true, false] {
        let mut scene = Scene::new("It is hunter2hunter2.");
        scene.options.line_filter = Some(redacting_filter(Redactor::new(["hunter2hunter2"])));
        let session = Session::create(scene.options()).await.unwrap();
        session.run("The password is hunter2hunter2.").await.unwrap();
        session.shutdown("other").await.unwrap();
        for prompt in ["Again, hunter2hunter2.", "Nothing secret.", "Nothing either."] {
            if !with_snapshot {
                fs::remove_file(scene.workspace.path(RECORD)).unwrap();
            }
            let (events, _) = read(&scene);
            let stored = scene.store.load(&id("s")).await.unwrap();
            assert_eq!(stored.snapshot_offset > 0, with_snapshot, "{prompt}");
            assert_eq!(stored.history.messages()[0].text(), "The password is [REDACTED].");
            assert_eq!(stored.history.reference().head, logged_head(&events), "{prompt}");
            let (provider, options) = scene.options_with("So it is.");
            let session = Session::resume(options, &id("s")).await.unwrap();
            assert!(session.defects().is_empty(), "{}", session.defects());
            session.run(prompt).await.unwrap();
            provider.assert_clean();
            session.shutdown("other").await.unwrap();
        }
    }
}

/// Counts the payloads that are read.
struct Counted {
    source: Arc<dyn PayloadSource>,
    read: AtomicUsize,
}

impl PayloadSource for Counted {
    fn read(&self, reference: &PayloadReference) -> Result<Vec<u8>, PayloadError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.source.read(reference)
    }
}

#[tokio::test]
async fn a_fold_reads_the_payloads_of_the_history_and_no_others() {
    let (scene, history) = after_a_call(
        ToolOutcome::success(large("x")).with_structured(json!({"facts": large("f"), "more": large("m")})),
    )
    .await;
    assert_eq!(payloads(&scene).len(), 3);
    let store: &dyn SessionStore = &scene.store;
    let LogSource { lines, payloads, .. } = store.read_log(&id("s")).await.unwrap().unwrap();
    let counted = Arc::new(Counted { source: payloads.unwrap(), read: AtomicUsize::new(0) });
    let mut fold = LogFold::new(id("s")).with_payloads(counted.clone());
    fold.read(lines).unwrap();
    assert_eq!(fold.finish().history.messages(), history);
    assert_eq!(counted.read.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn any_store_gives_its_logs_out() {
    let (scene, _) = after_a_call(ToolOutcome::success(large("x"))).await;
    let store: &dyn SessionStore = &scene.store;
    let log = store.read_log(&id("s")).await.unwrap().unwrap();
    let events = log.into_reader().map(|item| format!("{:?}", item.unwrap()));
    let inherent = scene.store.read_log(&id("s")).unwrap().map(|item| format!("{:?}", item.unwrap()));
    assert!(events.eq(inherent));
    assert!(store.read_log(&id("t")).await.unwrap().is_none());
    let null: &dyn SessionStore = &NullStore;
    assert!(null.read_log(&id("s")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_listing_shows_the_beginning_of_a_large_prompt() {
    let scene = Scene::new("Seen.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Look at this: ".to_owned() + &large("x ")).await.unwrap();
    drop(session);
    assert!(!scene.workspace.exists(RECORD));
    let head = scene.store.head(&id("s")).await.unwrap().unwrap();
    assert!(head.preview.unwrap().starts_with("Look at this: x x"));
}
