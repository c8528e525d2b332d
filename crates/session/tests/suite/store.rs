//! Keeping, finding and locking sessions.

use std::fs;
use std::sync::Arc;

use robota_core::{Timestamp, TurnEnd};
use robota_session::{ErrorKind, Session, SessionRecord, SessionStore};
use robota_testkit::{FixedClock, Reply, Script, fixed_ambient};
use serde_json::{Value, json};

use crate::scene::{Scene, id};

#[tokio::test]
async fn a_session_is_open_in_one_place_at_a_time() {
    let scene = Scene::new("One.");
    let session = Session::create(scene.options()).await.unwrap();
    let error = Session::resume(scene.options(), &id("s")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    let pid = std::process::id();
    assert_eq!(
        error.to_string(),
        format!("session s is open in process {pid} (since 2026-01-01T00:00:00.000Z)")
    );
    assert_eq!(error.hint(), Some("fork it (--fork-session) or close the other program"));
    assert_eq!(error.lock_owner().unwrap().pid, Some(pid));
    assert_eq!(scene.store.delete(&id("s")).await.unwrap_err().kind(), ErrorKind::Locked);
    // Readers need no lock.
    scene.store.load(&id("s")).await.unwrap();

    session.shutdown("other").await.unwrap();
    assert!(!scene.workspace.exists(".robota/sessions/s.lock"));
    Session::resume(scene.options(), &id("s")).await.unwrap();
}

#[tokio::test]
async fn the_record_is_one_that_the_original_reads() {
    let scene = Scene::new("Hello.");
    let mut options = scene.options();
    options.name = Some("greeting".into());
    let session = Session::create(options).await.unwrap();
    session.run("Hi\nthere").await.unwrap();
    session.shutdown("other").await.unwrap();
    let record: Value = serde_json::from_str(&scene.workspace.read(".robota/sessions/s.json")).unwrap();
    let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "name",
        "cwd",
        "createdAt",
        "updatedAt",
        "messageCount",
        "preview",
        "log",
        "systemPrompt",
        "toolSchemas",
        "history",
        "messages",
        "seal",
    ];
    assert_eq!(keys, expected);
    assert_eq!(record["createdAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(record["preview"], "Hi there");
    assert_eq!(record["log"]["offset"], scene.log().len());
    let roles: Vec<&Value> =
        record["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    assert_eq!(record["messages"][0]["content"], "Be brief.");
    assert_eq!(record["history"][1]["data"]["content"], "Hello.");
}

#[tokio::test]
async fn a_record_of_the_original_is_resumed_and_keeps_its_other_fields() {
    let scene = Scene::new(Script::new().reply("Two."));
    let chat = |id: &str, role: &str, content: &str| json!({"id": id, "timestamp": "2025-05-05T00:00:00.000Z", "state": "complete", "role": role, "content": content});
    let messages =
        [chat("m0", "system", "Old prompt."), chat("m1", "user", "first"), chat("m2", "assistant", "One.")];
    let record = json!({
        "id": "session_1747_abc", "cwd": "/elsewhere", "createdAt": "2025-05-05T00:00:00.000Z",
        "updatedAt": "2025-05-06T00:00:00.000Z", "messages": messages, "memoryEvents": [{"kind": "saved"}],
    });
    let path = ".robota/sessions/session_1747_abc.json";
    scene.workspace.write(path, serde_json::to_string_pretty(&record).unwrap());
    scene.workspace.write(".robota/logs/session_1747_abc.jsonl", "{\"timestamp\":\"2025-05-05T00:00:00.000Z\",\"sessionId\":\"session_1747_abc\",\"event\":\"user\",\"content\":\"first\"}\n");
    let old = id("session_1747_abc");
    let listed = scene.store.list().await.unwrap();
    assert_eq!((listed.sessions[0].id.clone(), listed.skipped.len()), (old.clone(), 0));

    let session = Session::resume(scene.options(), &old).await.unwrap();
    session.run("second").await.unwrap();
    scene.provider.assert_clean();
    let texts: Vec<String> = session.history().iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["first", "One.", "second", "Two."]);
    session.shutdown("other").await.unwrap();
    let (record, _) = SessionRecord::decode(scene.workspace.read(path).as_bytes()).unwrap();
    assert_eq!(record.extra["memoryEvents"], json!([{"kind": "saved"}]));
    assert_eq!(record.created_at.to_string(), "2025-05-05T00:00:00.000Z");

    // From now on the log tells everything.
    fs::remove_file(scene.workspace.path(path)).unwrap();
    let stored = scene.store.load(&old).await.unwrap();
    assert_eq!(stored.history.messages(), session.history());
}

#[tokio::test]
async fn listing_shows_every_session_latest_first_and_names_what_it_cannot_read() {
    let scene = Scene::new(Script::new().reply("One.").reply("Two.").reply("Three."));
    for (name, minutes, shut_down) in [("a", 1, true), ("b", 3, true), ("c", 2, false)] {
        let mut options = scene.options();
        let time = Timestamp::from_millis(4_000_000_000_000 + minutes * 60_000);
        options.ambient = robota_core::Ambient { clock: Arc::new(FixedClock::at(time)), ..fixed_ambient() };
        options.session_id = Some(id(name));
        options.name = (name == "a").then(|| "the first".into());
        let session = Session::create(options).await.unwrap();
        session.run(format!("prompt of {name}")).await.unwrap();
        if shut_down {
            session.shutdown("other").await.unwrap();
        }
    }
    scene.workspace.write(".robota/sessions/d.json", "{\"id\":\"d\"");
    scene.workspace.write(".robota/sessions/e.json", "{\"id\":\"x\",\"cwd\":\"/\",\"createdAt\":0}");
    scene.workspace.write(".robota/sessions/.writing-1", "left over");
    let listing = scene.store.list().await.unwrap();
    let seen: Vec<_> = listing
        .sessions
        .iter()
        .map(|head| (head.id.as_str(), head.name.as_deref(), head.preview.as_deref(), head.message_count))
        .collect();
    let expected = [
        ("b", None, Some("prompt of b"), Some(2)),
        ("c", None, Some("prompt of c"), None),
        ("a", Some("the first"), Some("prompt of a"), Some(2)),
    ];
    assert_eq!(seen, expected);
    let skipped: Vec<String> = listing
        .skipped
        .iter()
        .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(skipped, ["d.json", "e.json"]);
}

#[tokio::test]
async fn sessions_are_found_by_id_name_and_beginning() {
    let scene = Scene::new(Script::new());
    for (session_id, name, cwd) in [("abc-1", "login", "/p"), ("abc-2", "twin", "/p"), ("xyz", "twin", "/q")]
    {
        let mut options = scene.options();
        options.session_id = Some(id(session_id));
        options.name = Some(name.into());
        options.cwd = cwd.into();
        Session::create(options).await.unwrap().shutdown("other").await.unwrap();
    }
    let store: &dyn SessionStore = &scene.store;
    for (query, found) in [("abc-1", "abc-1"), ("login", "abc-1"), ("xy", "xyz")] {
        assert_eq!(store.find(query).await.unwrap().id, id(found), "{query}");
    }
    let error = store.find("twin").await.unwrap_err();
    assert_eq!((error.kind(), error.candidates().len()), (ErrorKind::Ambiguous, 2));
    assert!(error.to_string().contains("xyz (twin)"), "{error}");
    assert_eq!(store.find("abc").await.unwrap_err().kind(), ErrorKind::Ambiguous);
    for missing in ["nobody", "", "../x"] {
        assert_eq!(store.find(missing).await.unwrap_err().kind(), ErrorKind::NotFound, "{missing}");
    }
    assert_eq!(store.latest_for("/q".as_ref()).await.unwrap().unwrap().id, id("xyz"));
    assert!(store.latest_for("/nowhere".as_ref()).await.unwrap().is_none());

    store.delete(&id("xyz")).await.unwrap();
    store.delete(&id("xyz")).await.unwrap();
    assert_eq!(store.find("xyz").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!scene.workspace.exists(".robota/logs/xyz.jsonl"));
}

#[tokio::test]
async fn wrong_ids_and_folders_are_refused_without_a_trace() {
    let scene = Scene::new("One.");
    let error = Session::resume(scene.options(), &id("nobody")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(!scene.workspace.exists(".robota"));

    let session = Session::create(scene.options()).await.unwrap();
    session.shutdown("other").await.unwrap();
    assert_eq!(Session::create(scene.options()).await.unwrap_err().kind(), ErrorKind::Exists);

    let mut options = scene.options();
    options.store = Arc::new(robota_session::FileStore::new(scene.workspace.path("gone/.robota")));
    let error = Session::create(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(error.to_string().contains("gone"), "{error}");
    assert!(!scene.workspace.exists("gone"));
}

#[tokio::test]
async fn snapshots_and_log_together_grow_by_the_same_bytes_each_turn() {
    let text = "word ".repeat(400);
    let script = Script::new().respond_with(move |_| Reply::new().text(text.as_str()));
    let scene = Scene::new(script);
    let session = Session::create(scene.options()).await.unwrap();
    let mut sizes = vec![0];
    let mut snapshots = Vec::new();
    for turn in 1..=200 {
        let outcome = session.run("again").await.unwrap();
        assert_eq!(outcome.ended, TurnEnd::Completed);
        sizes.push(fs::metadata(scene.store.log_path(&id("s"))).unwrap().len());
        let record = fs::metadata(scene.store.record_path(&id("s"))).map_or(0, |metadata| metadata.len());
        if snapshots.last().is_none_or(|(_, size)| *size != record) {
            snapshots.push((turn, record));
        }
    }
    let grown = |turn: usize| sizes[turn] - sizes[turn - 1];
    assert!(grown(200) * 10 <= grown(10) * 11, "{} bytes, then {}", grown(10), grown(200));
    assert!(snapshots.len() < 10, "{snapshots:?}");
}
