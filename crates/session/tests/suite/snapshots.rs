//! Snapshots are believed when they are what was written, and cost nothing when they are not.

use std::fs;

use robota_core::MessageRef;
use robota_session::{ErrorKind, LineFilter, Session, SessionStore};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::scene::{Scene, TestTool, id, without_hunter2};

const LOG: &str = ".robota/logs/s.jsonl";
const RECORD: &str = ".robota/sessions/s.json";

/// A session with a name, a tool call and foreign fields, shut down; with its messages.
async fn ended() -> (Scene, Vec<MessageRef>) {
    let script = Script::new().reply(Reply::new().tool_call("c1", "Look", json!({}))).reply("Seen: ほげ.");
    let mut scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    scene.options.name = Some("one".into());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Look \"there\".").await.unwrap();
    let messages = session.history();
    session.shutdown("other").await.unwrap();
    (scene, messages)
}

/// That the session is told by its log alone, and that one defect says why.
async fn told_by_the_log(scene: &Scene, messages: &[MessageRef], what: &str) {
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), messages, "{what}");
    assert_eq!((stored.snapshot_offset, stored.turn, stored.name.as_deref()), (0, 1, Some("one")), "{what}");
    assert_eq!(scene.defects().await, ["Snapshot"], "{what}: {:?}", stored.defects);
}

#[tokio::test]
async fn a_snapshot_as_it_was_written_is_believed() {
    let (scene, messages) = ended().await;
    let log = scene.log();
    // Were the log read up to the snapshot's place, this would show.
    scene.workspace.write(LOG, log.replacen("Seen", "seen", 1));
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), messages);
    assert_eq!((stored.snapshot_offset, stored.defects.total()), (log.len() as u64, 0));
}

#[tokio::test]
async fn a_byte_changed_anywhere_is_noticed_and_costs_nothing() {
    let (scene, messages) = ended().await;
    let record = fs::read(scene.workspace.path(RECORD)).unwrap();
    // Every byte of the seal, and some of all that is before it.
    let sealed = record.len() - 100;
    for at in (0..sealed).step_by(37).chain(sealed..record.len()) {
        for flip in [1, 2, 0x20, 0x80] {
            let mut changed = record.clone();
            changed[at] ^= flip;
            scene.workspace.write(RECORD, &changed);
            told_by_the_log(&scene, &messages, &format!("byte {at} ^ {flip}")).await;
        }
    }
}

#[tokio::test]
async fn a_snapshot_cut_or_overwritten_costs_nothing() {
    let (scene, messages) = ended().await;
    let record = fs::read(scene.workspace.path(RECORD)).unwrap();
    for cut in (0..record.len()).step_by(29).chain(record.len() - 100..record.len()) {
        scene.workspace.write(RECORD, &record[..cut]);
        told_by_the_log(&scene, &messages, &format!("cut at {cut}")).await;
    }
    let zeros_in_it = [&record[..700], &[0; 512], &record[1212..]].concat();
    let text = String::from_utf8(record.clone()).unwrap();
    let pretty = serde_json::to_vec_pretty(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
    for (what, content) in [
        ("all zeros", vec![0; record.len()]),
        ("zeros in it", zeros_in_it),
        ("zeros after it", [&record[..], &[0; 4096]].concat()),
        ("twice", [&record[..], &record[..]].concat()),
        ("of another session", text.replacen("\"id\":\"s\"", "\"id\":\"t\"", 1).into_bytes()),
        ("renamed by hand", text.replacen("\"name\":\"one\"", "\"name\":\"two\"", 1).into_bytes()),
        ("written again by another program", pretty),
        ("of no format", b"PK\x03\x04 and so on".to_vec()),
    ] {
        assert_ne!(content, record, "{what}");
        scene.workspace.write(RECORD, &content);
        told_by_the_log(&scene, &messages, what).await;
    }
    // It is replaced by a good one as soon as the session has grown.
    let (_provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("two").await.unwrap();
    session.shutdown("other").await.unwrap();
    assert_eq!(scene.defects().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_redacted_snapshot_is_believed() {
    let mut scene = Scene::new("It is hunter2.");
    scene.options.line_filter = Some(without_hunter2());
    let session = Session::create(scene.options()).await.unwrap();
    session.run("The password is hunter2.").await.unwrap();
    session.shutdown("other").await.unwrap();
    assert!(!scene.workspace.read(RECORD).contains("hunter2"));
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages()[1].text(), "It is [REDACTED].");
    assert_eq!((stored.snapshot_offset, stored.defects.total()), (scene.log().len() as u64, 0));
}

#[tokio::test]
async fn a_filter_that_leaves_no_record_leaves_the_snapshot_before_it() {
    let (mut scene, _) = ended().await;
    let before = scene.workspace.read(RECORD);
    scene.options.line_filter = Some(LineFilter::new(|line: &mut Vec<u8>| {
        let is_record = line.windows(11).any(|text| text == b"\"createdAt\"");
        if is_record {
            *line = b"null".to_vec();
        }
        is_record
    }));
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    let error = session.shutdown("other").await.unwrap_err();
    assert!(error.to_string().contains("the filter of the session left something else"), "{error}");
    assert_eq!(scene.workspace.read(RECORD), before);
}

#[tokio::test]
async fn a_record_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let (scene, _) = ended().await;
    let record = scene.workspace.read(RECORD);
    // The seal of another format is no seal here.
    let newer = record.replacen("\"version\":1", "\"version\":2", 1).replacen("\"seal\"", "\"lock\"", 1);
    scene.workspace.write(RECORD, &newer);
    let before = scene.workspace.snapshot();
    let path = scene.workspace.path(RECORD);
    let expected = format!(
        "{} was written by a newer version of robota: field `log.version` is 2, and this version knows formats up to 1",
        path.display()
    );
    let error = Session::resume(scene.options(), &id("s")).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::NewerVersion, expected.clone()));
    assert_eq!(error.hint(), Some("update robota; the session stays as it is"));
    assert_eq!(Session::fork(scene.options(), &id("s")).await.unwrap_err().to_string(), expected);
    assert_eq!(scene.workspace.snapshot(), before);
    let listing = scene.store.list().await.unwrap();
    assert_eq!((listing.sessions.len(), listing.sessions[0].message_count), (1, Some(4)));
}

#[tokio::test]
async fn files_of_another_session_are_named_and_left_as_they_are() {
    let (scene, _) = ended().await;
    let (record, log) = (scene.workspace.read(RECORD), scene.log());
    // A log under another name, with and without a record.
    scene.workspace.write(".robota/logs/t.jsonl", &log);
    scene.workspace.write(".robota/logs/u.jsonl", &log);
    scene.workspace.write(".robota/sessions/u.json", record.replacen("\"id\":\"s\"", "\"id\":\"u\"", 1));
    // A record under another name, without a log.
    scene.workspace.write(".robota/sessions/v.json", &record);
    let before = scene.workspace.snapshot();
    for (name, file, field) in [
        (
            "t",
            ".robota/logs/t.jsonl",
            "by its field `sessionId` it is the log of another session (an event of session s)",
        ),
        (
            "u",
            ".robota/logs/u.jsonl",
            "by its field `sessionId` it is the log of another session (an event of session s)",
        ),
        ("v", ".robota/sessions/v.json", "its field `id` says that it is the record of session s"),
    ] {
        let error = Session::resume(scene.options(), &id(name)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert_eq!(
            error.to_string(),
            format!("cannot use {}: {field}", scene.workspace.path(file).display())
        );
        assert!(error.hint().is_some());
        assert_eq!(scene.store.load(&id(name)).await.unwrap_err().to_string(), error.to_string());
    }
    assert_eq!(scene.workspace.snapshot(), before);
}
