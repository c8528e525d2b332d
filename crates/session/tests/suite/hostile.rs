//! A state folder that came with a repository: links, pipes, and sessions that nobody here made.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use robota_core::Timestamp;
use robota_session::{ErrorKind, FileStore, Session, SessionStore};
use robota_testkit::{FixedClock, Script};

use crate::scene::{Scene, id};

const STATE: [&str; 3] = [".robota", ".robota/logs", ".robota/sessions"];

#[tokio::test]
async fn folders_that_are_links_are_refused_and_nothing_appears_behind_them() {
    for folder in STATE {
        let scene = Scene::new("One.");
        let outside = tempfile::tempdir().unwrap();
        let link = scene.workspace.path(folder);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(outside.path(), &link).unwrap();
        let error = Session::create(scene.options()).await.unwrap_err();
        let told = "it is a symbolic link, which is not followed here; it must be a folder";
        assert_eq!(error.to_string(), format!("cannot use {}: {told}", link.display()));
        assert_eq!(error.hint(), Some("remove what is there, or run without persistence"));
        let store: &dyn SessionStore = &scene.store;
        assert_eq!(store.list().await.unwrap_err().kind(), ErrorKind::Storage);
        assert_eq!(store.find("s").await.unwrap_err().kind(), ErrorKind::Storage);
        assert!(scene.store.read_log(&id("s")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{folder}");
    }
}

#[tokio::test]
async fn files_that_are_links_or_pipes_are_refused_at_once() {
    for (file, what) in [
        (".robota/logs/s.jsonl", "link"),
        (".robota/sessions/s.json", "link"),
        (".robota/sessions/s.lock", "link"),
        (".robota/logs/s.jsonl", "pipe"),
        (".robota/sessions/s.json", "pipe"),
        (".robota/sessions/s.lock", "pipe"),
    ] {
        let scene = Scene::new(Script::new().reply("One.").reply("Two."));
        let session = Session::create(scene.options()).await.unwrap();
        session.run("one").await.unwrap();
        session.shutdown("other").await.unwrap();
        let path = scene.workspace.path(file);
        let outside = scene.workspace.path("outside");
        let _ = fs::rename(&path, &outside);
        if what == "link" {
            symlink(&outside, &path).unwrap();
        } else {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        let before = fs::read(&outside).ok();
        let error = Session::resume(scene.options(), &id("s")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage, "{file} is a {what}");
        assert!(error.to_string().contains("must be a regular file"), "{error}");
        assert_eq!(fs::read(&outside).ok(), before, "{file} is a {what}");
        let store: &dyn SessionStore = &scene.store;
        store.list().await.unwrap();
        store.latest_for(scene.workspace.root()).await.unwrap();
        if file.ends_with("jsonl") {
            let error = scene.store.read_log(&id("s")).map(drop).unwrap_err();
            assert!(error.to_string().contains("s.jsonl: it is a"), "{error}");
        }
    }
}

/// The latest session of the workspace, for someone whose clock shows `now`.
async fn latest(scene: &Scene, now: Timestamp) -> Option<String> {
    let store = FileStore::with_clock(scene.workspace.path(".robota"), Arc::new(FixedClock::at(now)));
    let store: &dyn SessionStore = &store;
    store.latest_for(scene.workspace.root()).await.unwrap().map(|head| head.id.to_string())
}

#[tokio::test]
async fn a_session_without_log_or_from_the_future_is_never_gone_on_with_unasked() {
    let scene = Scene::new("One.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.shutdown("other").await.unwrap();
    let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
    let record = scene.workspace.read(".robota/sessions/s.json");
    assert_eq!(latest(&scene, now).await.as_deref(), Some("s"));
    // Times ahead by less than a day are those of another clock.
    let day = 24 * 60 * 60 * 1000;
    assert_eq!(latest(&scene, Timestamp::from_millis(now.as_millis() - day)).await.as_deref(), Some("s"));
    assert_eq!(latest(&scene, Timestamp::from_millis(now.as_millis() - day - 1)).await, None);

    let planted = record.replace("\"id\":\"s\"", "\"id\":\"planted\"").replace("2026-01-01", "2026-01-02");
    scene.workspace.write(".robota/sessions/planted.json", &planted);
    assert_eq!(scene.store.list().await.unwrap().sessions[0].id, id("planted"));
    assert_eq!(latest(&scene, now).await.as_deref(), Some("s"));
    scene.workspace.write(".robota/logs/planted.jsonl", "{}\n");
    assert_eq!(latest(&scene, now).await.as_deref(), Some("s"));
    scene.workspace.write(".robota/logs/planted.jsonl", scene.log().replace("\"s\"", "\"planted\""));
    scene.workspace.write(".robota/sessions/planted.json", planted.replace("2026-01-02", "2099-01-01"));
    assert_eq!(latest(&scene, now).await.as_deref(), Some("s"));
}
