//! Stored sessions without running them.

mod export;
mod fork;
mod gc;
mod import;
mod migrate;
mod rename;
mod turns;

use robota_session::archive::{ExportOptions, ExportReport, export};
use robota_session::{FileStore, Session};
use robota_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::scene::{Scene, TestTool, id};

/// A closed session `s` of two turns; the first calls a tool.
async fn two_turns() -> Scene {
    let script = Script::new()
        .reply(Reply::new().text("Looking.").tool_call("c1", "look", json!({})))
        .reply("Found it.")
        .reply("You are welcome.");
    let scene = Scene::new(script).with_tools([TestTool::prompt("look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Where is it?").await.unwrap();
    session.run("Thanks").await.unwrap();
    session.shutdown("other").await.unwrap();
    scene
}

async fn exported(store: &FileStore, options: ExportOptions) -> (Vec<u8>, ExportReport) {
    let mut artifact = Vec::new();
    let report = export(store, &id("s"), &options, &mut artifact).await.unwrap();
    assert_eq!(report.bytes, artifact.len() as u64);
    (artifact, report)
}

fn json_of(artifact: &[u8]) -> Value {
    serde_json::from_slice(artifact).unwrap()
}

/// A record as the original wrote it.
fn record_of_the_original() -> Value {
    let message = |id: &str, role: &str, content: &str| json!({"id": id, "timestamp": "2025-05-05T05:05:05.000Z", "state": "complete", "role": role, "content": content});
    json!({
        "id": "session_1747_abc", "name": "old one", "cwd": "/p",
        "createdAt": "2025-05-05T05:05:05.000Z", "updatedAt": "2025-05-06T05:05:05.000Z",
        "systemPrompt": "Be brief.",
        "messages": [message("s", "system", "Be brief."), message("u", "user", "hi"), message("a", "assistant", "hello")],
        "memoryEvents": [{"kind": "saved", "score": 1.50}],
        "approvedCommands": ["Bash(rm -rf *)"],
    })
}

fn artifact_of(record: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(&json!({"schemaVersion": 1, "record": record})).unwrap()
}
