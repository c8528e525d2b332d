//! Processes that want one session at the same moment: one has it, the others are told who.

use std::process::{Command, Stdio};

use robota_session::{ErrorKind, FileStore, Session, SessionOptions, SessionStore};
use robota_testkit::{Script, ScriptedProvider, TempWorkspace};

use crate::scene::{Scene, events, id};

/// Names the workspace to a child process, and thereby makes it one.
const WORKSPACE: &str = "ROBOTA_TEST_WORKSPACE";
/// How many turns each process runs, each in a session opened for it.
const TURNS: usize = 12;
const PROCESSES: usize = 3;

/// What a child process does; without a workspace to do it in, nothing.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the process that started this one says where")]
async fn child_process() {
    let Ok(workspace) = std::env::var(WORKSPACE) else { return };
    let mut turns = 0;
    while turns < TURNS {
        let store = FileStore::new(std::path::Path::new(&workspace).join(".robota"));
        let provider = ScriptedProvider::new(Script::new().respond_with(|_| "Yes.".into()));
        let mut options = SessionOptions::new(std::sync::Arc::new(provider), "model-1", "/p");
        options.store = std::sync::Arc::new(store);
        match Session::resume(options, &id("s")).await {
            Ok(session) => {
                turns += 1;
                session.run(format!("Turn {turns} of {}", std::process::id())).await.unwrap();
                session.shutdown("other").await.unwrap();
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
                // The owner may have gone since, and then nobody can be named.
                if let Some(owner) = error.lock_owner().filter(|owner| owner.pid.is_some()) {
                    assert_ne!(owner.pid, Some(std::process::id()));
                    assert!(owner.since.is_some(), "{owner:?}");
                }
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test is about processes")]
async fn processes_that_want_one_session_take_turns_and_never_mix_their_lines() {
    let workspace = TempWorkspace::new();
    let mut scene = Scene::new("Yes.");
    scene.store = FileStore::new(workspace.path(".robota"));
    scene.options.store = std::sync::Arc::new(scene.store.clone());
    Session::create(scene.options()).await.unwrap().shutdown("other").await.unwrap();
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "two_processes::child_process", "--nocapture"]);
        command.env(WORKSPACE, workspace.root()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let mut children: Vec<_> = (0..PROCESSES).map(|_| child()).collect();
    let pids: Vec<u32> = children.iter().map(std::process::Child::id).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    // Every line is whole, and every turn of every process is there, each behind the one before.
    let log = events(workspace.read(".robota/logs/s.jsonl").as_bytes());
    assert!(log.iter().zip(1..).all(|(event, seq)| event.seq == seq));
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert!(stored.defects.is_empty());
    let history = stored.history.messages();
    assert_eq!(history.len(), 2 * TURNS * PROCESSES);
    for pid in pids {
        let said = history.iter().filter(|message| message.text().ends_with(&format!(" of {pid}")));
        let turns: Vec<&str> = said.map(|message| message.text()).collect();
        let expected: Vec<String> = (1..=TURNS).map(|turn| format!("Turn {turn} of {pid}")).collect();
        assert_eq!(turns, expected);
    }
}
