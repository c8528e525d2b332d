//! Damage of every kind to a log that has it all: payloads, a compaction, a rewind, calls cut off, a fork.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use futures_util::future::pending;
use robota_core::{Event, EventKind, HistoryMutation, ToolOutcome};
use robota_session::{DefectKind, Session, SessionStore, StoredSession};
use robota_testkit::{Reply, Rule, Script, ScriptedProvider};
use serde_json::json;

use crate::cases::cases;
use crate::payloads::{PAYLOADS, payloads};
use crate::scene::{Scene, TestTool, id, wait_for};

const LOG: &str = ".robota/logs/s.jsonl";
const RECORD: &str = ".robota/sessions/s.json";

/// A session as a kill in the middle of its last turn leaves it, without its snapshot; and its fork.
async fn killed() -> Scene {
    let call = |id: &str, tool: &str| Reply::new().tool_call(id, tool, json!({}));
    let script = Script::new()
        .reply(call("c1", "Large"))
        .reply("One.")
        .reply("Two.")
        .reply("What was so far.")
        .reply("Three.")
        .reply("Four.")
        .reply(call("c2", "Large").tool_call("c3", "Slow", json!({})));
    let (large, _) = TestTool::parallel("Large", |context| {
        let content = context.call_id.repeat(17_000);
        Box::pin(async { Ok(ToolOutcome::success(content)) })
    });
    let (slow, _) = TestTool::serial("Slow", |_| Box::pin(pending()));
    let mut scene = Scene::new(Script::new()).with_tools([large, slow]);
    // A rewind takes back what the model has seen.
    scene.options.provider = Arc::new(ScriptedProvider::new(script).ignore(Rule::StablePrefix));
    scene.options.output_budget = 0;
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    session.compact(None).await.unwrap();
    session.run("three").await.unwrap();
    session.run("four").await.unwrap();
    session.rewind(3).await.unwrap();
    let mut streamed = session.subscribe();
    tokio::select! {
        _ = session.run("five") => panic!("the tool never ends"),
        () = async {
            let is_slow = |event: &Event| matches!(&event.kind, EventKind::ToolExecutionRequest { tool_name, .. } if tool_name == "Slow");
            while !is_slow(&*wait_for(&mut streamed, "tool_execution_request").await) {}
        } => {}
    }
    session.flush().await.unwrap();
    let log = scene.log();
    drop(session);
    while streamed.recv().await.is_some() {}
    scene.workspace.write(LOG, log);
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let (_, mut options) = scene.options_with("Of a fork.");
    options.session_id = Some(id("f"));
    let fork = Session::fork(options, &id("s")).await.unwrap();
    fork.run("fork").await.unwrap();
    fork.shutdown("other").await.unwrap();
    scene
}

/// Ids of the entries that a line adds.
fn adds(line: &str) -> Vec<String> {
    match serde_json::from_str::<Event>(line).unwrap().kind {
        EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
            vec![message.id.clone()]
        }
        EventKind::HistoryMutation(HistoryMutation::AppendEntry { entry }) => vec![entry.id],
        // A message with a large field: its id stands in the line.
        EventKind::Unknown(fields) => fields
            .get("message")
            .and_then(|message| message["id"].as_str())
            .map(str::to_owned)
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

fn entries(stored: &StoredSession) -> BTreeSet<String> {
    stored.history.entries().iter().map(|entry| entry.id.clone()).collect()
}

fn kinds(stored: &StoredSession) -> Vec<(DefectKind, Option<u64>)> {
    stored.defects.listed().iter().map(|defect| (defect.kind, defect.line)).collect()
}

/// What was damaged, by whom it shows.
struct Damage {
    what: String,
    log: Vec<u8>,
    /// Lines of the log, from 0, that say nothing any more.
    lost: Vec<usize>,
    /// The defects that are there at least.
    told: Vec<(DefectKind, Option<u64>)>,
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

/// Every kind of damage at every line.
fn matrix(log: &str) -> Vec<Damage> {
    let lines: Vec<Vec<u8>> = log.lines().map(|line| line.as_bytes().to_vec()).collect();
    let mut all = Vec::new();
    let mut add = |what: String, changed: &[Vec<u8>], lost: &[usize], told: &[(DefectKind, usize)]| {
        let told = told.iter().map(|(kind, line)| (*kind, Some(*line as u64 + 1))).collect();
        all.push(Damage { what, log: joined(changed), lost: lost.to_vec(), told });
    };
    for at in 0..lines.len() {
        let change = |f: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut lines = lines.clone();
            f(&mut lines);
            lines
        };
        let doubled = change(&|lines| lines.insert(at, lines[at].clone()));
        add(format!("line {at} twice"), &doubled, &[], &[(DefectKind::Duplicate, at + 1)]);
        for zeros in [1, 512, 4096] {
            let block = change(&|lines| lines.insert(at, vec![0; zeros]));
            add(format!("{zeros} zeros before line {at}"), &block, &[], &[(DefectKind::ZeroBlock, at)]);
        }
        let glued = change(&|lines| drop(lines[at].splice(0..0, [0; 7])));
        add(format!("zeros at the head of line {at}"), &glued, &[], &[(DefectKind::ZeroBlock, at)]);
        let middle = change(&|lines| {
            let half = lines[at].len() / 2;
            lines[at][half..].fill(0);
        });
        add(format!("zeros over half of line {at}"), &middle, &[at], &[(DefectKind::Garbage, at)]);
        let flipped = change(&|lines| lines[at][0] ^= 0x20);
        add(format!("first byte of line {at}"), &flipped, &[at], &[(DefectKind::Garbage, at)]);
        let foreign = change(&|lines| {
            let line = String::from_utf8(lines[at].clone()).unwrap();
            lines.insert(at, line.replacen("\"sessionId\":\"s\"", "\"sessionId\":\"t\"", 1).into_bytes());
        });
        add(format!("another session's before line {at}"), &foreign, &[], &[(DefectKind::Foreign, at)]);
        let newer = change(&|lines| {
            lines.insert(at, br#"{"seq":9000000,"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s","turn":1,"event":"from_later","x":{}}"#.to_vec());
        });
        if at + 1 == lines.len() {
            add("an event of a later version".to_owned(), &newer, &[], &[]);
        }
        let moved = change(&|lines| {
            let line = lines.remove(at);
            lines.push(line);
        });
        add(format!("line {at} moved to the end"), &moved, &[at], &[]);
        let next = (at + 1).min(lines.len() - 1);
        add(
            format!("line {at} swapped with the next"),
            &change(&|lines| lines.swap(at, next)),
            &[at, next],
            &[],
        );
        let lost = change(&|lines| drop(lines.remove(at)));
        add(format!("line {at} lost"), &lost, &[at], &[]);
    }
    let crlf: Vec<Vec<u8>> = lines.iter().map(|line| [line.as_slice(), b"\r"].concat()).collect();
    add("line ends of another system".into(), &crlf, &[], &[]);
    let mut marked = lines;
    drop(marked[0].splice(0..0, *b"\xef\xbb\xbf"));
    add("a byte order mark".into(), &marked, &[], &[]);
    all
}

#[tokio::test]
async fn every_intact_record_is_there_whatever_happened_to_the_others() {
    let scene = killed().await;
    let log = scene.log();
    let lines: Vec<&str> = log.lines().collect();
    let whole = scene.store.load(&id("s")).await.unwrap();
    assert!(whole.defects.is_empty() && payloads(&scene).len() >= 2, "{}", whole.defects);
    let all = entries(&whole);
    let shortens = |at: &usize| {
        ["replace", "truncate"].iter().any(|what| lines[*at].contains(&format!("\"mutation\":\"{what}\"")))
    };
    let every = if cases(1) > 1 { 1 } else { 5 };
    for (number, damage) in matrix(&log).iter().enumerate() {
        if number % every != 0 && !damage.lost.iter().any(shortens) {
            continue;
        }
        let what = &damage.what;
        scene.workspace.write(LOG, &damage.log);
        let before = scene.workspace.snapshot();
        let stored = scene.store.load(&id("s")).await.unwrap();
        scene.store.list().await.unwrap();
        SessionStore::read_log(&scene.store, &id("s")).await.unwrap().unwrap().into_reader().for_each(drop);
        assert_eq!(scene.workspace.snapshot(), before, "{what}: looking changed something");

        let lost: BTreeSet<String> = damage.lost.iter().flat_map(|at| adds(lines[*at])).collect();
        let there = entries(&stored);
        let missing: Vec<_> = all.iter().filter(|id| !lost.contains(*id) && !there.contains(*id)).collect();
        assert!(missing.is_empty(), "{what}: {missing:?} of {all:?}\n{}", stored.defects);
        let told = kinds(&stored);
        assert!(
            damage.told.iter().all(|one| told.contains(one)),
            "{what}: {told:?} without {:?}",
            damage.told
        );
        if damage.lost.is_empty() {
            assert_eq!(told, damage.told, "{what}");
            assert_eq!(stored.history.messages(), whole.history.messages(), "{what}");
        }
    }
}

#[tokio::test]
async fn a_damaged_session_goes_on_and_is_whole_after_that() {
    let scene = killed().await;
    let log = scene.log();
    let matrix = matrix(&log);
    // Every kind, at some of the lines: each costs a turn.
    for damage in matrix.iter().step_by(29) {
        let what = &damage.what;
        scene.workspace.write(LOG, &damage.log);
        let (provider, options) = scene.options_with("On we go.");
        let session = Session::resume(options, &id("s")).await.unwrap();
        session.run("six").await.unwrap();
        provider.assert_clean();
        let history = session.history();
        session.shutdown("other").await.unwrap();
        let (_, options) = scene.options_with("And on.");
        let again = Session::resume(options, &id("s")).await.unwrap();
        assert_eq!((again.history(), again.defects().total()), (history.clone(), 0), "{what}");
        again.shutdown("other").await.unwrap();
        // The log alone tells the same, and names the damage once.
        fs::remove_file(scene.workspace.path(RECORD)).unwrap();
        let stored = scene.store.load(&id("s")).await.unwrap();
        assert_eq!(stored.history.messages(), history, "{what}: {}", stored.defects);
    }
}

#[tokio::test]
async fn swapped_payloads_are_noticed_and_put_in_no_wrong_place() {
    let scene = killed().await;
    let names = payloads(&scene);
    let (one, two) = (format!("{PAYLOADS}/{}", names[0]), format!("{PAYLOADS}/{}", names[1]));
    let (first, second) = (scene.workspace.read(&one), scene.workspace.read(&two));
    scene.workspace.write(&one, second);
    scene.workspace.write(&two, first);
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert!(kinds(&stored).iter().all(|(kind, _)| *kind == DefectKind::Payload));
    assert_eq!(stored.defects.total(), 2, "{}", stored.defects);
    let text = serde_json::to_string(stored.history.entries()).unwrap();
    assert_eq!(text.matches("[missing: ").count(), 2);
    assert!(!text.contains("c1c1") && !text.contains("c2c2"));
}
