//! Timelines for records from before there were any.

use std::fs;

use robota_session::archive::migrate;
use robota_session::{Session, SessionStore};
use robota_testkit::Script;
use serde_json::json;

use super::record_of_the_original;
use crate::scene::{Scene, id};

fn put(scene: &Scene, name: &str, content: &str) {
    scene.workspace.write(&format!(".robota/sessions/{name}"), content);
}

#[tokio::test]
async fn records_without_a_timeline_get_one_and_keep_every_other_byte() {
    let scene = Scene::new(Script::new());
    let message =
        r#"{"id":"u","timestamp":"2025-05-05T05:05:05.000Z","role":"user","content":"\u00e4","odd":1.50}"#;
    let compact = format!(
        r#"{{"zeta":1e2,"id":"a","cwd":"/p","createdAt":0,"updatedAt":0,"messages":[{message}],"alpha":{{"big":123456789012345678901234567890}}}}"#
    );
    put(&scene, "a.json", &compact);
    let entry = format!(
        r#"{{"id":"u","timestamp":"2025-05-05T05:05:05.000Z","category":"chat","type":"user","data":{message}}}"#
    );
    let mut record = record_of_the_original();
    record["history"] = json!([]);
    let pretty = serde_json::to_string_pretty(&record).unwrap();
    put(&scene, "session_1747_abc.json", &pretty);

    let dry = migrate(&scene.store, true).await.unwrap();
    assert_eq!(scene.workspace.read(".robota/sessions/a.json"), compact);
    let report = migrate(&scene.store, false).await.unwrap();
    assert_eq!((&dry.migrated, dry.dry_run, report.dry_run), (&report.migrated, true, false));
    let expected =
        json!({"dryRun": false, "migrated": ["a", "session_1747_abc"], "skipped": [], "failed": []});
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);

    let expected = compact.replace("],\"alpha\"", &format!("],\"history\":[{entry}],\"alpha\""));
    assert_eq!(scene.workspace.read(".robota/sessions/a.json"), expected);
    let migrated = scene.workspace.read(".robota/sessions/session_1747_abc.json");
    let (before, after) = migrated.split_once("\"history\": [\n").unwrap();
    assert!(pretty.starts_with(before) && after.starts_with("    {\n      \"id\": \"s\",\n"), "{migrated}");
    let stored = scene.store.load(&id("session_1747_abc")).await.unwrap();
    let texts: Vec<&str> = stored.history.messages().iter().map(|message| message.text()).collect();
    assert_eq!((texts, stored.history.entries().len()), (vec!["hi", "hello"], 2));

    let again = migrate(&scene.store, false).await.unwrap();
    assert_eq!((again.migrated.len(), again.skipped.len()), (0, 2));
    assert_eq!(scene.workspace.read(".robota/sessions/session_1747_abc.json"), migrated);
    assert_eq!(fs::read_dir(scene.workspace.path(".robota/sessions")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_record_of_this_program_has_a_timeline_also_when_it_is_empty() {
    let scene = Scene::new(Script::new());
    let session = Session::create(scene.options()).await.unwrap();
    session.shutdown("other").await.unwrap();
    let record = scene.workspace.read(".robota/sessions/s.json");
    let report = migrate(&scene.store, false).await.unwrap();
    assert_eq!((report.skipped, report.migrated), (vec![id("s")], Vec::new()));
    assert_eq!(scene.workspace.read(".robota/sessions/s.json"), record);
}

#[tokio::test]
async fn what_cannot_be_migrated_is_told_and_stays() {
    let scene = Scene::new("Hello.");
    let session = Session::create(scene.options()).await.unwrap();
    let open = json!({"id": "s", "cwd": "/p", "createdAt": 0, "updatedAt": 0, "messages": [{"id": "u", "timestamp": 0, "role": "user", "content": "x"}]});
    let cases = [
        ("broken", "{\"id\":".to_owned(), "is no session record: "),
        ("none", json!({"id": "none"}).to_string(), "`messages`: expected an array, found nothing"),
        (
            "other",
            json!({"id": "x", "messages": []}).to_string(),
            "`id` is not that of the file: expected `other`, found `x`",
        ),
        (
            "role",
            json!({"id": "role", "messages": [{"id": "u", "timestamp": 0, "role": "elf"}]}).to_string(),
            "`messages[0].role`: expected user, assistant, system or tool, found \"elf\"",
        ),
        ("s", open.to_string(), "session s is open in process "),
    ];
    for (name, content, _) in &cases {
        put(&scene, &format!("{name}.json"), content);
    }
    for dry_run in [true, false] {
        let report = migrate(&scene.store, dry_run).await.unwrap();
        assert_eq!((report.migrated.len(), report.failed.len()), (0, cases.len()));
        for (failed, (name, content, reason)) in report.failed.iter().zip(&cases) {
            assert!(failed.reason.starts_with(reason), "{failed:?}");
            assert_eq!(scene.workspace.read(&format!(".robota/sessions/{name}.json")), *content);
        }
    }
    drop(session);
}
