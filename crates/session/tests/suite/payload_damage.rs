//! Payloads that are missing, or not what they were.

use std::fs;

use robota_core::{Event, EventKind, ToolOutcome};
use robota_session::{DefectKind, LogFold, Session, SessionStore};
use robota_testkit::{Reply, Script, TempWorkspace};
use serde_json::json;

use crate::payloads::{PAYLOADS, RECORD, after_a_call, large, logged_head, payloads, read};
use crate::scene::{Scene, TestTool, events, id};

/// Does something to the payload at this path of the workspace.
type Damage = fn(&TempWorkspace, &str);

fn cut_to(workspace: &TempWorkspace, payload: &str, length: u64) {
    let file = fs::File::options().write(true).open(workspace.path(payload)).unwrap();
    file.set_len(length).unwrap();
}

const DAMAGE: [(&str, Damage); 6] = [
    ("PAYLOAD_NOT_FOUND", |at, payload| fs::remove_file(at.path(payload)).unwrap()),
    ("PAYLOAD_NOT_FOUND", |at, _| fs::remove_dir_all(at.path(PAYLOADS)).unwrap()),
    ("BYTE_LENGTH_MISMATCH", |at, payload| cut_to(at, payload, 0)),
    ("BYTE_LENGTH_MISMATCH", |at, payload| cut_to(at, payload, 1_000_000)),
    ("SHA256_MISMATCH", |at, payload| at.write(payload, at.read(payload).replacen('x', "y", 1))),
    ("PAYLOAD_UNREADABLE", |at, payload| {
        fs::remove_file(at.path(payload)).unwrap();
        fs::create_dir(at.path(payload)).unwrap();
    }),
];

#[tokio::test]
async fn damage_to_a_payload_is_named_and_the_session_goes_on() {
    for (code, damage) in DAMAGE {
        let (scene, history) = after_a_call(ToolOutcome::success(large("x"))).await;
        let name = payloads(&scene).remove(0);
        damage(&scene.workspace, &format!("{PAYLOADS}/{name}"));
        let sha256 = name.strip_suffix(".json").unwrap();

        let stored = scene.store.load(&id("s")).await.unwrap();
        let messages = stored.history.messages();
        assert_eq!(messages.len(), history.len(), "{code}");
        assert_eq!(messages[2].text(), format!("[missing: 200002 bytes, payload {sha256}]"));
        assert_eq!((&messages[..2], &messages[3..]), (&history[..2], &history[3..]));
        let [defect] = stored.defects.listed() else { panic!("{}", stored.defects) };
        assert_eq!(defect.kind, DefectKind::Payload);
        assert!(defect.detail.contains(code) && defect.detail.contains(sha256), "{}", defect.detail);
        let (events, defects) = read(&scene);
        assert_eq!((events.len(), defects), (scene.log().lines().count(), vec![DefectKind::Payload]));
        assert_eq!(stored.history.reference().head, logged_head(&events));

        let (provider, options) = scene.options_with("On we go.");
        let session = Session::resume(options, &id("s")).await.unwrap();
        session.run("And?").await.unwrap();
        provider.assert_clean();
        let history = session.history();
        session.shutdown("other").await.unwrap();
        let stored = scene.store.load(&id("s")).await.unwrap();
        assert!(stored.snapshot_offset > 0 && stored.defects.is_empty());
        assert_eq!(stored.history.messages(), history);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_payload_folder_that_is_a_link_is_neither_read_nor_written() {
    let (scene, history) = after_a_call(ToolOutcome::success(large("x"))).await;
    let outside = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (scene.workspace.path(PAYLOADS), outside.path().join("payloads"));
    fs::rename(&folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    assert_eq!(scene.defects().await, ["Payload"]);

    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(session.history().len(), history.len());
    let error = session.run(large("y")).await.unwrap_err();
    assert!(error.to_string().contains("it is a symbolic link"), "{error}");
    drop(session);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    while scene.store.delete(&id("s")).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(fs::symlink_metadata(&folder).is_err() && elsewhere.exists());
}

#[tokio::test]
async fn a_part_without_a_text_in_its_place_is_lost_and_nothing_else() {
    let mut calls = Reply::new();
    for number in 0..500 {
        calls = calls.tool_call(format!("c{number}"), "Look", json!({"n": "x".repeat(100)}));
    }
    let scene = Scene::new(Script::new().reply(calls).reply("Seen.")).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Look around.").await.unwrap();
    let history = session.history();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    fs::remove_dir_all(scene.workspace.path(PAYLOADS)).unwrap();

    let stored = scene.store.load(&id("s")).await.unwrap();
    let mut expected = history;
    expected.remove(1);
    assert_eq!(stored.history.messages(), expected);
    assert_eq!(scene.defects().await, ["Payload", "MissingMessages"]);
    let (provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("And?").await.unwrap();
    provider.assert_clean();
}

#[tokio::test]
async fn what_a_crash_leaves_in_the_folder_harms_nobody_and_is_made_right() {
    let (scene, _) = after_a_call(ToolOutcome::success(large("x"))).await;
    let payload = format!("{PAYLOADS}/{}", payloads(&scene)[0]);
    scene.workspace.write(&format!("{PAYLOADS}/.writing-torn"), "\"xxx");
    assert_eq!(scene.defects().await, [""; 0]);

    // As after a power cut before anything of it was promised.
    cut_to(&scene.workspace, &payload, 1000);
    assert_eq!(scene.defects().await, ["Payload"]);
    let (_, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run(large("x")).await.unwrap();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    assert_eq!(scene.defects().await, [""; 0]);
}

#[tokio::test]
async fn without_its_payloads_a_log_says_what_it_lacks() {
    let (scene, history) = after_a_call(ToolOutcome::success(large("x"))).await;
    let log = scene.log();
    let is_unknown = |event: &Event| matches!(event.kind, EventKind::Unknown(_));
    let without: Vec<Event> = events(log.as_bytes()).into_iter().filter(is_unknown).collect();
    let [Event { kind: EventKind::Unknown(fields), .. }] = &without[..] else { panic!("{without:?}") };
    assert_eq!(fields["message"]["content"]["byteLength"], 200_002);
    let mut fold = LogFold::new(id("s"));
    fold.read(log.as_bytes()).unwrap();
    let stored = fold.finish();
    assert_eq!(stored.history.messages().len(), history.len() - 1);
    let kinds: Vec<DefectKind> = stored.defects.listed().iter().map(|defect| defect.kind).collect();
    assert_eq!(kinds, [DefectKind::Payload, DefectKind::MissingMessages]);
}
