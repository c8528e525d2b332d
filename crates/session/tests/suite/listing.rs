//! What listings say of sessions that were not ended in good order.

use std::fs;

use robota_session::{ErrorKind, Session, SessionHead, SessionStore};
use robota_testkit::Script;

use crate::scene::{Scene, id};

async fn listed(scene: &Scene, name: &str) -> SessionHead {
    let listing = scene.store.list().await.unwrap();
    let head = listing.sessions.into_iter().find(|head| head.id == id(name));
    head.unwrap_or_else(|| panic!("{name} is not listed: {:?}", listing.skipped))
}

#[tokio::test]
async fn a_new_name_counts_before_there_is_a_snapshot_and_after_one() {
    let scene = Scene::new(Script::new().reply("One.").reply("Two."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.set_name(Some("first")).unwrap();
    session.flush().await.unwrap();
    assert!(!scene.workspace.exists(".robota/sessions/s.json"));
    assert_eq!(listed(&scene, "s").await.name.as_deref(), Some("first"));

    session.run("two").await.unwrap();
    session.set_name(Some(" second\n")).unwrap();
    session.flush().await.unwrap();
    assert!(scene.workspace.read(".robota/sessions/s.json").contains("\"name\":\"first\""));
    assert_eq!(listed(&scene, "s").await.name.as_deref(), Some("second"));
    let store: &dyn SessionStore = &scene.store;
    assert_eq!(store.find(" second ").await.unwrap().id, id("s"));
    assert_eq!(store.find("first").await.unwrap_err().kind(), ErrorKind::NotFound);

    session.set_name(Some("  ")).unwrap();
    session.flush().await.unwrap();
    assert_eq!((session.name(), listed(&scene, "s").await.name), (None, None));
    let error = session.set_name(Some(&"x".repeat(201))).unwrap_err();
    assert_eq!((error.kind(), session.name()), (ErrorKind::InvalidName, None));
}

#[tokio::test]
async fn a_name_that_is_refused_makes_no_session() {
    let scene = Scene::new(Script::new());
    let mut options = scene.options();
    options.name = Some("x".repeat(201));
    assert_eq!(Session::create(options).await.unwrap_err().kind(), ErrorKind::InvalidName);
    assert!(!scene.workspace.exists(".robota"));
    let mut options = scene.options();
    options.name = Some("\t".into());
    assert_eq!(Session::create(options).await.unwrap().name(), None);
}

#[tokio::test]
async fn candidates_are_named_without_what_a_terminal_acts_on() {
    let scene = Scene::new(Script::new());
    for name in ["a-1", "a-2"] {
        let record = format!(
            "{{\"id\":\"{name}\",\"name\":\"\\u001b[2J\",\"cwd\":\"/p\",\"createdAt\":0,\"updatedAt\":0,\"messages\":[]}}"
        );
        scene.workspace.write(&format!(".robota/sessions/{name}.json"), record);
    }
    let store: &dyn SessionStore = &scene.store;
    let error = store.find("a-").await.unwrap_err();
    assert_eq!(error.to_string(), "`a-` fits 2 sessions: a-2 (\u{fffd}[2J), a-1 (\u{fffd}[2J)");
}

#[tokio::test]
async fn the_preview_of_a_fork_is_the_first_prompt_of_the_conversation() {
    let scene = Scene::new(Script::new().reply("One."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("how it began").await.unwrap();
    let (_provider, mut options) = scene.options_with("Two.");
    options.session_id = Some(id("fork"));
    let fork = Session::fork(options, &id("s")).await.unwrap();
    fork.run("how it went on").await.unwrap();
    assert!(!scene.workspace.exists(".robota/sessions/fork.json"));
    assert_eq!(listed(&scene, "fork").await.preview.as_deref(), Some("how it began"));
    fork.shutdown("other").await.unwrap();
    assert_eq!(listed(&scene, "fork").await.preview.as_deref(), Some("how it began"));
}

#[tokio::test]
async fn a_log_whose_first_line_is_broken_is_still_listed() {
    let scene = Scene::new(Script::new().reply("One."));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.shutdown("other").await.unwrap();
    let log = scene.log();
    let broken = format!("~~~ overwritten ~~~{}", &log[log.find('\n').unwrap()..]);
    scene.workspace.write(".robota/logs/s.jsonl", broken);
    // With a snapshot nothing is unknown, and the session is the latest of its folder all the same.
    let store: &dyn SessionStore = &scene.store;
    assert_eq!(store.latest_for(scene.workspace.root()).await.unwrap().unwrap().id, id("s"));
    fs::remove_file(scene.workspace.path(".robota/sessions/s.json")).unwrap();
    let head = listed(&scene, "s").await;
    assert_eq!((head.cwd.as_os_str().len(), head.preview.as_deref()), (0, Some("one")));
    assert_eq!(head.created_at.to_string(), "2026-01-01T00:00:00.000Z");
    assert!(store.latest_for(scene.workspace.root()).await.unwrap().is_none());
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_whose_name_is_not_utf8_keeps_its_sessions() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new(Script::new().reply("One.").reply("Two."));
    let cwd = scene.workspace.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    let mut options = scene.options();
    options.cwd.clone_from(&cwd);
    let session = Session::create(options).await.unwrap();
    session.run("one").await.unwrap();
    session.shutdown("other").await.unwrap();
    assert_eq!(scene.events()[0].seq, 1);
    let store: &dyn SessionStore = &scene.store;
    assert_eq!(store.latest_for(&cwd).await.unwrap().unwrap().id, id("s"));
    assert!(serde_json::to_string(&listed(&scene, "s").await).is_ok());
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!((session.history().len(), session.defects().total()), (2, 0));
}
