//! Another name for a stored session.

use std::fs::OpenOptions;
use std::io::Write;

use robota_session::archive::rename;
use robota_session::{ErrorKind, Session, SessionStore};
use robota_testkit::{Script, fixed_ambient};
use serde_json::json;

use super::{record_of_the_original, two_turns};
use crate::scene::{Scene, id};

#[tokio::test]
async fn a_rename_is_an_event_that_listings_and_resumes_see() {
    let scene = two_turns().await;
    let (intact, last) = (scene.log(), scene.events().last().unwrap().seq);
    let mut file =
        OpenOptions::new().append(true).open(scene.workspace.path(".robota/logs/s.jsonl")).unwrap();
    write!(file, "{{\"seq\":99").unwrap();
    let report =
        rename(&scene.store, &id("s"), Some(" new\u{7} name "), &fixed_ambient(), None).await.unwrap();
    let expected = json!({"sessionId": "s", "before": null, "after": "new\u{fffd} name", "changed": true});
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    let line = scene.log().strip_prefix(&intact).unwrap().to_owned();
    let event = format!(
        "{{\"seq\":{},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"sessionId\":\"s\",\"turn\":0,\"event\":\"session_name\",\"name\":\"new\u{fffd} name\"}}\n",
        last + 1
    );
    assert_eq!(line, event);
    assert_eq!(scene.store.head(&id("s")).await.unwrap().unwrap().name, report.after);

    let before = scene.log();
    let same =
        rename(&scene.store, &id("s"), Some("new\u{fffd} name"), &fixed_ambient(), None).await.unwrap();
    assert!(!same.changed);
    assert_eq!(scene.log(), before);
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(session.name(), report.after);
    let error = rename(&scene.store, &id("s"), None, &fixed_ambient(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
}

#[tokio::test]
async fn names_and_sessions_that_are_none_are_refused() {
    let scene = two_turns().await;
    let long = "x".repeat(201);
    let error = rename(&scene.store, &id("s"), Some(&long), &fixed_ambient(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
    let error = rename(&scene.store, &id("x"), Some("y"), &fixed_ambient(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_record_of_the_original_keeps_its_history_when_its_log_begins_with_a_name() {
    let scene = Scene::new(Script::new());
    let record = record_of_the_original();
    scene.workspace.write(".robota/sessions/session_1747_abc.json", record.to_string());
    let session = id("session_1747_abc");
    rename(&scene.store, &session, Some("new"), &fixed_ambient(), None).await.unwrap();
    assert_eq!(scene.store.head(&session).await.unwrap().unwrap().name.as_deref(), Some("new"));
    let stored = scene.store.load(&session).await.unwrap();
    assert_eq!((stored.history.messages().len(), stored.name.as_deref()), (2, Some("new")));
    assert_eq!(stored.extra["memoryEvents"], record["memoryEvents"]);
    std::fs::remove_file(scene.store.record_path(&session)).unwrap();
    assert_eq!(scene.store.load(&session).await.unwrap().history.messages().len(), 2);
}
