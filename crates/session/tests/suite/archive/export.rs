//! Sessions as artifacts.

use std::fs::{self, OpenOptions};
use std::io::Write;

use robota_session::Session;
use robota_session::archive::ExportOptions;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{exported, json_of, two_turns};
use crate::scene::Scene;

#[tokio::test]
async fn an_artifact_is_the_record_and_the_events_in_order() {
    let scene = two_turns().await;
    let (artifact, report) = exported(&scene.store, ExportOptions::default()).await;
    let artifact = json_of(&artifact);
    let fields: Vec<&String> = artifact.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["schemaVersion", "record", "log"]);
    assert_eq!(artifact["schemaVersion"], 1);
    let lines: Vec<Value> = scene.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(artifact["log"], Value::from(lines.clone()));
    assert_eq!(artifact["record"]["log"], Value::Null, "a place in a file means nothing elsewhere");
    assert_eq!(artifact["record"]["messages"][0]["content"], "Be brief.");
    let expected = json!({
        "sessionId": "s", "schemaVersion": 1, "messages": 6, "entries": 6, "events": lines.len(),
        "bytes": report.bytes, "leftOut": 0,
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);

    let (bare, report) = exported(&scene.store, ExportOptions::without_log()).await;
    assert_eq!(json_of(&bare), json!({"schemaVersion": 1, "record": artifact["record"]}));
    assert_eq!(report.events, None);
}

#[tokio::test]
async fn an_open_session_can_be_exported() {
    let scene = Scene::new("Hello.");
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Hi").await.unwrap();
    let (artifact, report) = exported(&scene.store, ExportOptions::default()).await;
    assert_eq!((report.messages, report.left_out), (2, 0));
    assert_eq!(json_of(&artifact)["log"].as_array().unwrap().last().unwrap()["event"], "complete");
    drop(session);
}

#[tokio::test]
async fn only_intact_events_of_the_session_are_written_and_the_rest_is_told() {
    let scene = two_turns().await;
    let intact = json_of(&exported(&scene.store, ExportOptions::default()).await.0);
    let log = scene.log();
    let first = log.lines().next().unwrap();
    let foreign = first.replace("\"sessionId\":\"s\"", "\"sessionId\":\"x\"");
    let broken = r#"{"seq":900,"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s","turn":0,"event":"history_mutation","mutation":"append_message","index":9,"message":{"role":"wizard"}}"#;
    let mut file =
        OpenOptions::new().append(true).open(scene.workspace.path(".robota/logs/s.jsonl")).unwrap();
    write!(file, "\n{first}\n{foreign}\nnonsense\n\0\0\0\n{broken}\n{{\"seq\":").unwrap();
    let (artifact, report) = exported(&scene.store, ExportOptions::default()).await;
    assert_eq!(json_of(&artifact)["log"], intact["log"]);
    let reasons: Vec<&str> =
        report.left_out_pieces.iter().map(|piece| piece.split_once("): ").unwrap().1).collect();
    assert_eq!(report.left_out, 6);
    let starts = [
        "event 1 a second time",
        "an event of session x",
        "not an event",
        "not an event",
        "not a history_mutation event",
        "not an event",
    ];
    for (reason, start) in reasons.iter().zip(starts) {
        assert!(reason.starts_with(start), "{reasons:?}");
    }
}

#[tokio::test]
async fn payloads_come_back_into_their_places_and_a_lost_one_is_told() {
    let scene = two_turns().await;
    let big = serde_json::to_vec("much text").unwrap();
    let hash: String = Sha256::digest(&big).iter().map(|byte| format!("{byte:02x}")).collect();
    let reference = |hash: &str| {
        json!({
            "kind": "external-payload", "encoding": "json", "sha256": hash, "byteLength": big.len(),
            "relativePath": format!("s.payloads/{hash}.json"),
        })
    };
    let event = |seq: u32, hash: &str| json!({"seq": seq, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s", "turn": 0, "event": "user", "content": reference(hash)});
    let folder = scene.workspace.path(".robota/logs/s.payloads");
    fs::create_dir(&folder).unwrap();
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(folder.join(format!("{hash}.json")))
        .unwrap()
        .write_all(&big)
        .unwrap();
    let mut file =
        OpenOptions::new().append(true).open(scene.workspace.path(".robota/logs/s.jsonl")).unwrap();
    writeln!(file, "{}\n{}", event(900, &hash), event(901, &"0".repeat(64))).unwrap();
    let (artifact, report) = exported(&scene.store, ExportOptions::default()).await;
    let log = json_of(&artifact)["log"].clone();
    let of = |seq: u32| {
        log.as_array().unwrap().iter().find(|event| event["seq"] == seq).unwrap()["content"].clone()
    };
    assert_eq!(of(900), "much text");
    assert!(of(901).as_str().unwrap().starts_with("[missing: "), "{}", of(901));
    assert_eq!(report.left_out, 1);
    assert!(report.left_out_pieces[0].contains("PAYLOAD_NOT_FOUND"), "{:?}", report.left_out_pieces);
}
