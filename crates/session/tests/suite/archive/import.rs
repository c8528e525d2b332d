//! Artifacts become sessions.

use std::fs;
use std::sync::Arc;

use robota_session::archive::{
    ExportOptions, ImportErrorKind, ImportId, ImportOptions, import_from, parse_artifact,
};
use robota_session::{ErrorKind, FileStore, InjectedRole, LineFilter, NullStore, Session, SessionStore};
use robota_testkit::{FixedClock, Script, fixed_ambient};
use serde_json::{Value, json};

use super::{artifact_of, exported, json_of, record_of_the_original, two_turns};
use crate::scene::{Scene, id};

fn options() -> ImportOptions {
    let mut options = ImportOptions::default();
    options.ambient = fixed_ambient();
    options
}

fn other_store(scene: &Scene) -> FileStore {
    FileStore::with_clock(scene.workspace.path(".other"), Arc::new(FixedClock::default()))
}

#[tokio::test]
async fn an_exported_session_is_the_same_session_elsewhere() {
    let scene = two_turns().await;
    let (artifact, _) = exported(&scene.store, ExportOptions::default()).await;
    let elsewhere = other_store(&scene);
    let report = import_from(&elsewhere, &*artifact, &options()).await.unwrap();
    let log = scene.log();
    let expected = json!({
        "sessionId": "s", "originalId": "s", "messages": 6, "turns": 2, "events": log.lines().count(),
        "restated": false, "renumbered": false,
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    assert_eq!(fs::read_to_string(elsewhere.log_path(&id("s"))).unwrap(), log);
    let (here, there) = (scene.store.load(&id("s")).await.unwrap(), elsewhere.load(&id("s")).await.unwrap());
    assert_eq!(there.history.entries(), here.history.entries());
    assert_eq!((there.mark, there.turn, there.defects), (here.mark, here.turn, here.defects));
    let (head, copy) = (scene.store.head(&id("s")).await.unwrap(), elsewhere.head(&id("s")).await.unwrap());
    assert_eq!(copy.unwrap().preview, head.unwrap().preview);

    let mut options = scene.options();
    options.store = Arc::new(elsewhere);
    options.provider = scene.options_with("Go on.").0;
    let session = Session::resume(options, &id("s")).await.unwrap();
    assert_eq!(session.run("Still there?").await.unwrap().turn, 3);
}

#[tokio::test]
async fn under_another_id_every_line_is_of_the_new_session() {
    let scene = two_turns().await;
    let (artifact, _) = exported(&scene.store, ExportOptions::default()).await;
    let taken = import_from(&scene.store, &*artifact, &options()).await.unwrap_err();
    assert_eq!(
        (taken.kind(), taken.to_string().as_str()),
        (ErrorKind::Exists, "a session `s` exists already")
    );
    assert!(taken.hint().unwrap().contains("fresh id"), "{:?}", taken.hint());

    let mut fresh = options();
    fresh.id = ImportId::Fresh;
    let report = import_from(&scene.store, &*artifact, &fresh).await.unwrap();
    assert_ne!(report.session_id, report.original_id);
    let log = fs::read_to_string(scene.store.log_path(&report.session_id)).unwrap();
    let renamed =
        scene.log().replace("\"sessionId\":\"s\"", &format!("\"sessionId\":\"{}\"", report.session_id));
    assert_eq!(log, renamed);
    let stored = scene.store.load(&report.session_id).await.unwrap();
    assert_eq!((stored.history.messages().len(), stored.defects.total()), (6, 0));
}

#[tokio::test]
async fn an_artifact_of_the_original_becomes_a_log_and_its_other_fields_are_only_kept() {
    let scene = Scene::new(Script::new());
    let artifact = artifact_of(&record_of_the_original());
    let report = import_from(&scene.store, &*artifact, &options()).await.unwrap();
    let session_id = id("session_1747_abc");
    let expected = json!({
        "sessionId": "session_1747_abc", "originalId": "session_1747_abc", "name": "old one", "messages": 2,
        "turns": 0, "restated": true, "renumbered": false, "keptFields": ["memoryEvents", "approvedCommands"],
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);

    fs::remove_file(scene.store.record_path(&session_id)).unwrap();
    let stored = scene.store.load(&session_id).await.unwrap();
    let texts: Vec<&str> = stored.history.messages().iter().map(|message| message.text()).collect();
    assert_eq!(
        (texts, stored.name.as_deref()),
        (vec!["hi", "hello"], Some("old one")),
        "the log alone tells it"
    );
    assert_eq!(stored.updated_at.to_string(), "2025-05-06T05:05:05.000Z");
    assert!(!stored.outside_log);
    scene.store.delete(&session_id).await.unwrap();

    import_from(&scene.store, &*artifact, &options()).await.unwrap();
    let session = Session::resume(scene.options(), &session_id).await.unwrap();
    assert_eq!(session.session_allowed(), Vec::<String>::new());
    session.shutdown("other").await.unwrap();
    let record = fs::read(scene.store.record_path(&session_id)).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["memoryEvents"], json!([{"kind": "saved", "score": 1.5}]));
}

#[tokio::test]
async fn a_history_that_begins_with_a_system_message_is_imported_whole() {
    for prompt in ["", "Be brief."] {
        let scene = Scene::new("Fine.");
        let mut with_prompt = scene.options();
        with_prompt.system_prompt = prompt.into();
        let session = Session::create(with_prompt).await.unwrap();
        session.inject_message(InjectedRole::System, "The folder has changed.").unwrap();
        session.run("And now?").await.unwrap();
        session.shutdown("other").await.unwrap();
        let (artifact, _) = exported(&scene.store, ExportOptions::without_log()).await;
        let elsewhere = other_store(&scene);
        import_from(&elsewhere, &*artifact, &options()).await.unwrap();
        let (here, there) =
            (scene.store.load(&id("s")).await.unwrap(), elsewhere.load(&id("s")).await.unwrap());
        assert_eq!(there.history.entries(), here.history.entries(), "{prompt:?}");
        assert_eq!(there.history.messages().len(), 3);
        assert_eq!(there.system_prompt.as_deref().unwrap_or_default(), prompt);
    }
}

#[tokio::test]
async fn events_that_do_not_count_up_get_new_numbers() {
    let scene = two_turns().await;
    let mut artifact = json_of(&exported(&scene.store, ExportOptions::default()).await.0);
    artifact["log"][0]["seq"] = json!(u64::MAX);
    let artifact = serde_json::to_vec_pretty(&artifact).unwrap();
    let report = import_from(&other_store(&scene), &*artifact, &options()).await.unwrap();
    assert!(report.renumbered && !report.restated);
    let log = fs::read_to_string(other_store(&scene).log_path(&id("s"))).unwrap();
    for (number, line) in (1..).zip(log.lines()) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["seq"], json!(number));
    }
}

#[tokio::test]
async fn where_log_and_record_differ_the_record_is_what_the_session_is() {
    let scene = two_turns().await;
    let mut artifact = json_of(&exported(&scene.store, ExportOptions::default()).await.0);
    let log = artifact["log"].as_array_mut().unwrap();
    log.retain(|event| event["event"] != "history_mutation" || event["index"] != 2);
    let artifact = serde_json::to_vec(&artifact).unwrap();
    let report = import_from(&other_store(&scene), &*artifact, &options()).await.unwrap();
    assert!(report.restated);
    assert!(report.unused[0].contains("message 2 is missing"), "{:?}", report.unused);
    let (here, there) =
        (scene.store.load(&id("s")).await.unwrap(), other_store(&scene).load(&id("s")).await.unwrap());
    assert_eq!(there.history.messages(), here.history.messages());
    assert!(!there.has_gaps);
}

#[tokio::test]
async fn what_cannot_be_written_leaves_nothing_behind() {
    let scene = Scene::new(Script::new());
    let artifact = artifact_of(&record_of_the_original());
    let error = import_from(&NullStore, &*artifact, &options()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot import a session: this store keeps nothing");
    let mut small = options();
    small.limit = 100;
    let error = import_from(&scene.store, &*artifact, &small).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArtifact);
    assert_eq!(error.to_string(), "this cannot be imported: expected at most 100 bytes, found more");
    assert!(!scene.workspace.path(".robota").exists());

    // A folder in the place of the snapshot: the log can be written, the snapshot cannot.
    let session_id = id("session_1747_abc");
    import_from(&scene.store, &*artifact, &options()).await.unwrap();
    scene.store.delete(&session_id).await.unwrap();
    let filter = LineFilter::new({
        let record = scene.store.record_path(&session_id);
        move |_: &mut Vec<u8>| {
            let _ = fs::create_dir(&record);
            false
        }
    });
    let mut blocked = options();
    blocked.line_filter = Some(filter);
    import_from(&scene.store, &*artifact, &blocked).await.unwrap_err();
    assert!(!scene.store.log_path(&session_id).exists());
}

#[tokio::test]
async fn secrets_are_taken_out_on_the_way_in_and_lines_say_so() {
    let scene = two_turns().await;
    let (artifact, _) = exported(&scene.store, ExportOptions::default()).await;
    let filter = LineFilter::new(|line: &mut Vec<u8>| {
        let before = std::mem::take(line);
        *line = String::from_utf8_lossy(&before).replace("Where is it?", "[REDACTED]").into_bytes();
        *line != before
    });
    let mut filtered = options();
    filtered.line_filter = Some(filter);
    let report = import_from(&other_store(&scene), &*artifact, &filtered).await.unwrap();
    assert!(!report.restated);
    let log = fs::read_to_string(other_store(&scene).log_path(&id("s"))).unwrap();
    let redacted = log.lines().filter(|line| line.contains("[REDACTED]"));
    assert!(redacted.clone().count() >= 2 && redacted.clone().all(|line| line.contains("\"redacted\":true")));
    assert!(!log.contains("Where is it?"));
    assert!(!fs::read_to_string(other_store(&scene).record_path(&id("s"))).unwrap().contains("Where is it?"));
}

#[tokio::test]
async fn large_fields_go_out_and_come_in_again_as_payloads() {
    let script = Script::new().reply("One.").reply("Two.");
    let scene = Scene::new(script);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("much text ".repeat(10_000)).await.unwrap();
    session.shutdown("other").await.unwrap();
    let payloads = |folder: &str| {
        let entries = fs::read_dir(scene.workspace.path(&format!("{folder}/logs/s.payloads"))).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (artifact, report) = exported(&scene.store, ExportOptions::default()).await;
    assert_eq!(report.left_out, 0);
    import_from(&other_store(&scene), &*artifact, &options()).await.unwrap();
    assert!(!payloads(".robota").is_empty());
    assert_eq!(payloads(".other"), payloads(".robota"));
    assert_eq!(fs::read_to_string(other_store(&scene).log_path(&id("s"))).unwrap(), scene.log());
    let (again, _) = exported(&other_store(&scene), ExportOptions::default()).await;
    assert_eq!(again, artifact);
    let there = other_store(&scene).load(&id("s")).await.unwrap();
    assert_eq!((there.snapshot_offset, there.defects.total()), (scene.log().len() as u64, 0));
}

fn refused(artifact: &[u8]) -> (ImportErrorKind, String) {
    let error = parse_artifact(artifact).unwrap_err();
    let told = error.to_string();
    (error.kind(), told.strip_prefix("this cannot be imported: ").unwrap().to_owned())
}

#[tokio::test]
async fn whatever_a_file_holds_it_is_an_artifact_or_an_error() {
    let scene = Scene::new("Hello.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    session.shutdown("other").await.unwrap();
    let (artifact, _) = exported(&scene.store, ExportOptions::default()).await;
    assert_eq!(parse_artifact(&artifact).unwrap().session_id(), &id("s"));
    let whole = artifact.trim_ascii_end().len();
    // In steps of a prime, so that all kinds of places are met.
    for (at, byte) in (0..whole).step_by(17).zip([b'"', b'{', b']', b'9', 0, 0xff].into_iter().cycle()) {
        parse_artifact(&artifact[..at]).unwrap_err();
        let mut other = artifact.clone();
        other[at] = byte;
        // A letter of a text may change without harm; nothing may panic.
        let _ = parse_artifact(&other);
    }
}

#[test]
fn other_formats_are_refused_by_name() {
    let conversation = json!({"id": "conv_1", "state": {}, "metadata": {}}).to_string();
    let claude = r#"{"parentUuid":null,"sessionId":"a","type":"user","uuid":"b","message":{}}"#;
    let version =
        |guess: &str| format!("`schemaVersion`: expected the number 1, found nothing; it looks like {guess}");
    let document = "expected one JSON object with `schemaVersion` and `record`, found";
    let cases = [
        (String::new(), format!("{document} nothing")),
        ("[]".to_owned(), format!("{document} an array")),
        ("7".to_owned(), format!("{document} 7")),
        (record_of_the_original().to_string(), version("a bare session record")),
        (conversation, version("the export of a Conversation")),
        (claude.to_owned(), version("the transcript of another agent")),
        (
            format!("{claude}\n{claude}\n"),
            format!("{document} several JSON values, as in a file of JSON lines"),
        ),
        (
            r#"{"schemaVersion":"1"}"#.to_owned(),
            "`schemaVersion`: expected the number 1, found \"1\"".to_owned(),
        ),
    ];
    for (artifact, expected) in cases {
        assert_eq!(refused(artifact.as_bytes()), (ImportErrorKind::OtherFormat, expected));
    }
    let newer = refused(br#"{"schemaVersion":2,"anything":1}"#);
    assert_eq!(
        newer,
        (ImportErrorKind::NewerVersion, "`schemaVersion`: expected at most 1, found 2".to_owned())
    );
    assert_eq!(refused(b"{\"schemaVersion\":1,").0, ImportErrorKind::Syntax);
    assert_eq!(
        refused(b"{\"schemaVersion\":1,\"record\":{},\"record\":{}}").0,
        ImportErrorKind::InvalidField
    );
}

#[test]
fn a_wrong_field_is_named_with_its_path() {
    let call = json!({"id": "c", "type": "function", "function": {"name": 3}});
    let cases = [
        ("/id", json!("../x"), "`record.id`: expected 1 to 128 of"),
        ("/cwd", json!(7), "`record.cwd`: expected a string, found 7"),
        ("/createdAt", json!("soon"), "`record.createdAt`: expected a time such as"),
        ("/updatedAt", json!(i64::MAX), "`record.updatedAt`: expected a time such as"),
        ("/name", json!("n".repeat(300)), "`record.name`: expected a name of at most 200 characters"),
        ("/messages", json!({}), "`record.messages`: expected an array, found an object"),
        (
            "/messages/1",
            json!("hi"),
            "`record.messages[1]`: expected a message, which is an object, found \"hi\"",
        ),
        (
            "/messages/2/role",
            json!("wizard"),
            "`record.messages[2].role`: expected user, assistant, system or tool, found \"wizard\"",
        ),
        ("/messages/1/content", Value::Null, "`record.messages[1].content`: expected a string, found null"),
        (
            "/messages/2/toolCalls",
            json!([call]),
            "`record.messages[2].toolCalls[0].function.name`: expected a string, found 3",
        ),
        (
            "/history",
            json!([{"id": "e", "timestamp": 0, "category": "chat", "type": "user", "data": {}}]),
            "`record.history[0].data.id`: expected a string, found nothing",
        ),
        ("/toolSchemas", json!("none"), "`record.toolSchemas`: expected an array, found \"none\""),
    ];
    for (place, value, expected) in cases {
        let mut record = record_of_the_original();
        record[place.split('/').nth(1).unwrap()].take();
        let mut record = if place.matches('/').count() > 1 { record_of_the_original() } else { record };
        match record.pointer_mut(place) {
            Some(field) => *field = value,
            None => {
                let (parent, field) = place.rsplit_once('/').unwrap();
                record.pointer_mut(parent).unwrap()[field] = value;
            }
        }
        let (kind, told) = refused(&artifact_of(&record));
        assert_eq!(kind, ImportErrorKind::InvalidField, "{told}");
        assert!(told.starts_with(expected), "{told}");
    }
}

#[tokio::test]
async fn a_wrong_event_is_named_with_its_path() {
    let scene = two_turns().await;
    let artifact = json_of(&exported(&scene.store, ExportOptions::default()).await.0);
    let mutation = artifact["log"].as_array().unwrap().iter().position(|event| event["index"] == 0).unwrap();
    let at = |field: &str| format!("/log/{mutation}{field}");
    let cases = [
        (at(""), json!(7), "an event, which is an object, found 7"),
        (
            at("/sessionId"),
            json!("other"),
            ".sessionId`: expected `s`, the id of the record, found \"other\"",
        ),
        (at("/seq"), json!(-1), ".seq`: expected a whole number, found -1"),
        (at("/timestamp"), json!(true), ".timestamp`: expected a time such as"),
        (at("/turn"), json!(4_000_000_000_u64), ".turn`: expected the number of a turn"),
        (at("/message"), json!({}), "expected an event, found not an event: "),
    ];
    for (place, value, expected) in cases {
        let mut artifact = artifact.clone();
        *artifact.pointer_mut(&place).unwrap() = value;
        let (_, told) = refused(&serde_json::to_vec(&artifact).unwrap());
        assert!(told.starts_with(&format!("`log[{mutation}]")) && told.contains(expected), "{told}");
    }
}
