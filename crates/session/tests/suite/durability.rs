//! What is acknowledged is on disk, and a disk that fails is noticed.

use std::io;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{HistoryEntry, Timestamp, ToolOutcome, TurnEnd};
use robota_session::{Durability, ErrorKind, LogWriter, Session, SessionStore};
use robota_testkit::{Gate, Reply, Script};
use serde_json::json;
use tokio::sync::watch;

use crate::scene::{Scene, TestTool, events, id, names, wait_for, without_hunter2};
use crate::wrapped_store::wrapped;

/// What a log writer did, and what it is to do.
#[derive(Default)]
struct Watch {
    /// What was done, in order: the lines of each append, or `sync`.
    done: watch::Sender<Vec<String>>,
    /// Comes before each fsync.
    hold_sync: Mutex<Option<Gate>>,
    fail_append: Mutex<Option<io::ErrorKind>>,
    fail_sync: Mutex<Option<io::ErrorKind>>,
}

impl Watch {
    async fn appended(&self, text: &str) {
        let mut done = self.done.subscribe();
        done.wait_for(|done| done.iter().any(|step| step.contains(text))).await.unwrap();
    }

    fn fails(which: &Mutex<Option<io::ErrorKind>>) -> io::Result<()> {
        which.lock().unwrap().map_or(Ok(()), |kind| Err(kind.into()))
    }
}

/// A log writer that can be watched, held up and broken.
struct WatchedWriter {
    inner: Box<dyn LogWriter>,
    watch: Arc<Watch>,
}

impl LogWriter for WatchedWriter {
    fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            Watch::fails(&self.watch.fail_append)?;
            self.inner.append(lines).await?;
            self.watch.done.send_modify(|done| done.push(String::from_utf8_lossy(lines).into_owned()));
            Ok(())
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let hold = self.watch.hold_sync.lock().unwrap().clone();
            if let Some(gate) = hold {
                gate.pass().await;
            }
            Watch::fails(&self.watch.fail_sync)?;
            self.inner.sync().await?;
            self.watch.done.send_modify(|done| done.push("sync".into()));
            Ok(())
        })
    }
}

fn watched(script: impl Into<Script>) -> (Scene, Arc<Watch>) {
    let mut scene = Scene::new(script);
    let watch = Arc::new(Watch::default());
    let watching = watch.clone();
    scene.options.store =
        wrapped(scene.options.store, move |inner| Box::new(WatchedWriter { inner, watch: watching.clone() }));
    (scene, watch)
}

#[tokio::test]
async fn complete_is_streamed_only_after_the_fsync() {
    let (scene, watch) = watched("Done.");
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let mut streamed = session.subscribe();
    let gate = Gate::new("sync");
    *watch.hold_sync.lock().unwrap() = Some(gate.clone());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Do it.").await }
    });
    gate.reached().await;
    // The line is in the file, the disk has not promised anything, and nobody is told.
    assert_eq!(names(&scene.events()).last().unwrap(), "complete");
    let mut seen = Vec::new();
    while let Some(event) = streamed.try_recv() {
        seen.push((*event).clone());
    }
    assert_eq!(names(&seen).last().unwrap(), "assistant");
    assert!(!running.is_finished());
    // What happens meanwhile keeps its place behind.
    let note = HistoryEntry::event("n".into(), Timestamp::default(), "note", json!("meanwhile"));
    session.add_history_entry(note).unwrap();
    assert!(streamed.try_recv().is_none());
    gate.open();
    assert_eq!(running.await.unwrap().unwrap().ended, TurnEnd::Completed);
    let complete = wait_for(&mut streamed, "complete").await.seq;
    assert_eq!(wait_for(&mut streamed, "history_mutation").await.seq, complete + 1);
    assert_eq!(watch.done.borrow().iter().filter(|step| *step == "sync").count(), 1);
}

#[tokio::test]
async fn a_tool_runs_only_after_its_request_is_written() {
    for (durability, synced) in [(Durability::Turn, false), (Durability::Event, true)] {
        let script = Script::new().reply(Reply::new().tool_call("c1", "Act", json!({}))).reply("Done.");
        let (mut scene, watch) = watched(script);
        let state_at_call = Arc::new(Mutex::new(Vec::new()));
        let (tool, _) = TestTool::parallel("Act", {
            let (watch, state) = (watch.clone(), state_at_call.clone());
            move |_| {
                state.lock().unwrap().clone_from(&watch.done.borrow());
                Box::pin(async { Ok(ToolOutcome::success("done")) })
            }
        });
        scene = scene.with_tools([tool]);
        scene.options.durability = durability;
        let session = Session::create(scene.options()).await.unwrap();
        session.run("Act.").await.unwrap();
        let state = state_at_call.lock().unwrap();
        let written =
            events(state.iter().filter(|step| *step != "sync").cloned().collect::<String>().as_bytes());
        assert_eq!(names(&written).last().unwrap(), "tool_execution_request");
        assert_eq!(state.last().unwrap() == "sync", synced, "{durability:?}");
    }
}

#[tokio::test]
async fn without_durability_nothing_is_fsynced_and_still_acknowledged_in_order() {
    let (mut scene, watch) = watched("Done.");
    scene.options.durability = Durability::None;
    let session = Session::create(scene.options()).await.unwrap();
    let mut streamed = session.subscribe();
    session.run("Do it.").await.unwrap();
    wait_for(&mut streamed, "complete").await;
    assert!(!watch.done.borrow().iter().any(|step| step == "sync"));
    session.flush().await.unwrap();
    assert_eq!(watch.done.borrow().last().unwrap(), "sync");
}

#[tokio::test]
async fn text_is_readable_in_the_file_while_it_streams() {
    let script = Reply::new().text(["So ", "far"]).gate("middle").text(", so good.");
    let (scene, watch) = watched(script);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Go.").await }
    });
    scene.provider.gate("middle").reached().await;
    // Nothing else happens now: only the timer of the writer can bring the text to the file.
    watch.appended("\"delta\":\"So far\"").await;
    assert!(scene.log().contains("\"delta\":\"So far\""));
    scene.provider.gate("middle").open();
    running.await.unwrap().unwrap();
    assert!(scene.log().contains("\"delta\":\", so good.\""));
}

#[tokio::test]
async fn a_full_disk_fails_the_turn_and_everything_after_it() {
    let (scene, watch) = watched(Script::new().reply("One.").reply("Two."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    let acknowledged = session.history();
    let mut streamed = session.subscribe();
    *watch.fail_append.lock().unwrap() = Some(io::ErrorKind::StorageFull);
    let error = session.run("two").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Storage, "STORAGE_ERROR"));
    assert!(error.to_string().contains("s.jsonl cannot be written"), "{error}");
    assert!(error.hint().unwrap().contains("free some space"));
    wait_for(&mut streamed, "error").await;
    // The disk is fine again, but what was lost in between is lost: nothing more is acknowledged.
    *watch.fail_append.lock().unwrap() = None;
    assert_eq!(session.flush().await.unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(session.run("three").await.unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(session.shutdown("other").await.unwrap_err().kind(), ErrorKind::Storage);
    let mut after = Vec::new();
    while let Some(event) = streamed.recv().await {
        after.push((*event).clone());
    }
    assert!(!names(&after).contains(&"complete".to_owned()));
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), acknowledged);
    assert!(stored.defects.is_empty());
}

#[tokio::test]
async fn a_failed_fsync_is_not_acknowledged() {
    let (scene, watch) = watched("One.");
    let session = Session::create(scene.options()).await.unwrap();
    *watch.fail_sync.lock().unwrap() = Some(io::ErrorKind::Other);
    let error = session.run("one").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert_eq!(error.turn().unwrap().text, "One.");
}

#[tokio::test]
async fn no_tool_runs_when_its_request_cannot_be_written() {
    let script = Script::new().reply(Reply::new().hold_at("answer").tool_call("c1", "Act", json!({})));
    let (mut scene, watch) = watched(script);
    let (tool, calls) = TestTool::parallel("Act", |_| Box::pin(async { Ok(ToolOutcome::success("done")) }));
    scene = scene.with_tools([tool]);
    let session = Arc::new(Session::create(scene.options()).await.unwrap());
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.run("Act.").await }
    });
    scene.provider.gate("answer").reached().await;
    *watch.fail_append.lock().unwrap() = Some(io::ErrorKind::ReadOnlyFilesystem);
    scene.provider.gate("answer").open();
    assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_session_that_cannot_be_written_is_not_made() {
    let (scene, watch) = watched("One.");
    *watch.fail_append.lock().unwrap() = Some(io::ErrorKind::StorageFull);
    let error = Session::create(scene.options()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    let hint = "free some space, then start again: nothing of this session is on disk";
    assert_eq!(error.hint(), Some(hint));
    assert!(!scene.store.log_path(&id("s")).exists());
    *watch.fail_append.lock().unwrap() = None;
    Session::create(scene.options()).await.unwrap();
}

#[tokio::test]
async fn what_the_filter_takes_out_reaches_no_file() {
    let mut scene = Scene::new("It is hunter2.");
    scene.options.line_filter = Some(without_hunter2());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("The password is hunter2.").await.unwrap();
    session.shutdown("other").await.unwrap();
    for (path, content) in scene.workspace.snapshot() {
        assert!(!content.contains("hunter2"), "{path}");
    }
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages()[1].text(), "It is [REDACTED].");
    assert!(stored.defects.is_empty());
}
