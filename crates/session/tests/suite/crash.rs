//! Logs and snapshots in every state a crash can leave them in.

use std::fs;

use robota_core::{Event, EventKind, MessageRef};
use robota_session::{LogFold, Session, SessionStore};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool, events, id};

const LOG: &str = ".robota/logs/s.jsonl";
const RECORD: &str = ".robota/sessions/s.json";

/// A session of two turns with a tool call each, shut down; with its history after each turn.
async fn two_turns() -> (Scene, [Vec<MessageRef>; 2]) {
    let mut script = Script::new();
    for turn in ["c1", "c2"] {
        script = script.reply(Reply::new().tool_call(turn, "Look", json!({}))).reply("Seen.");
    }
    let scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    let first = session.history();
    session.run("two").await.unwrap();
    let second = session.history();
    session.shutdown("other").await.unwrap();
    (scene, [first, second])
}

/// Where the line of the `nth` event called `name` ends.
fn end_of(log: &str, name: &str, nth: usize) -> usize {
    let at = log.match_indices(&format!("\"event\":\"{name}\"")).nth(nth).unwrap().0;
    at + log[at..].find('\n').unwrap() + 1
}

#[tokio::test]
async fn cut_at_any_byte_the_session_opens_and_has_all_that_was_acknowledged() {
    let (scene, [first, second]) = two_turns().await;
    let log = scene.log();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let (first_end, second_end) = (end_of(&log, "complete", 0), end_of(&log, "complete", 1));
    let line_ends: Vec<usize> = log.match_indices('\n').map(|(at, _)| at + 1).collect();
    for cut in first_end..=log.len() {
        let mut fold = LogFold::new(id("s"));
        fold.read(&log.as_bytes()[..cut]).unwrap();
        let stored = fold.finish();
        let messages = stored.history.messages();
        assert!(messages.starts_with(&first) && second.starts_with(messages), "cut at {cut}");
        assert!(cut < second_end || messages == second, "cut at {cut}");
        assert!(stored.defects.total() <= 1, "cut at {cut}: {:?}", stored.defects);
        // With files, at the ends of all lines and in the middle of some.
        if !line_ends.iter().any(|end| end.abs_diff(cut) <= 1) && cut % 97 != 0 {
            continue;
        }
        scene.workspace.write(LOG, &log.as_bytes()[..cut]);
        let (opened, open) = scene.store.open(&id("s")).await.unwrap();
        assert_eq!(opened.history.messages(), messages, "cut at {cut}");
        drop(open);
        let repaired = scene.log();
        assert!(repaired.ends_with('\n') && log.starts_with(&repaired), "cut at {cut}");
        events(repaired.as_bytes());
        if cut % 97 == 0 {
            let (provider, options) = scene.options_with("On we go.");
            let session = Session::resume(options, &id("s")).await.unwrap();
            session.run("three").await.unwrap();
            provider.assert_clean();
            let history = session.history();
            session.shutdown("other").await.unwrap();
            let stored = scene.store.load(&id("s")).await.unwrap();
            assert_eq!(stored.history.messages(), history);
            assert!(stored.defects.is_empty(), "{:?}", stored.defects);
            fs::remove_file(scene.workspace.path(RECORD)).unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_no_event_is_skipped_and_named() {
    let (scene, [_, second]) = two_turns().await;
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let log = scene.log();
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let copy = lines[3].clone();
    let foreign = lines[2].replace("\"sessionId\":\"s\"", "\"sessionId\":\"other\"");
    let newer = lines[2].replace("\"event\":\"history_mutation\"", "\"event\":\"from_the_future\"").replacen(
        "\"seq\":3,",
        "\"seq\":999,",
        1,
    );
    lines[6].insert_str(0, "\0\0\0");
    lines.insert(9, newer);
    lines.insert(8, "\0".repeat(4096));
    lines.insert(7, foreign);
    lines.insert(5, copy);
    lines.insert(4, "}{ no json".into());
    scene.workspace.write(LOG, lines.join("\n") + "\n");
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), second);
    let told: Vec<String> = stored
        .defects
        .listed()
        .iter()
        .map(|defect| format!("{:?} in line {}", defect.kind, defect.line.unwrap()))
        .collect();
    let expected = [
        "Garbage in line 5",
        "Duplicate in line 7",
        "ZeroBlock in line 9",
        "Foreign in line 10",
        "ZeroBlock in line 12",
    ];
    assert_eq!(told, expected);
    assert_eq!(stored.mark.seq, 999);
}

#[tokio::test]
async fn a_lost_message_does_not_take_the_later_ones_with_it() {
    let (scene, [_, second]) = two_turns().await;
    let log = scene.log();
    let mut lines: Vec<&str> = log.lines().collect();
    // The answer of the first turn.
    let lost = lines.iter().position(|line| line.contains("\"index\":3,")).unwrap();
    lines[lost] = "~~~ overwritten ~~~";
    scene.workspace.write(LOG, lines.join("\n") + "\n");
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    let mut expected = second.clone();
    expected.remove(3);
    assert_eq!(stored.history.messages(), expected);
    assert_eq!(scene.defects().await, ["Garbage", "MissingMessages"]);

    // Once resumed, the log counts anew: a later reader finds nothing missing after that.
    let (provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    assert_eq!(session.defects().total(), 2);
    session.run("three").await.unwrap();
    provider.assert_clean();
    let history = session.history();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), history);
    assert!(!stored.has_gaps);
}

/// What the log says of damage when it is opened for writing: `skippedLines`.
fn skipped_lines(scene: &Scene) -> usize {
    let mut told = Vec::new();
    for line in scene.log().lines() {
        if let Ok(Event { kind: EventKind::SessionResume { skipped_lines, .. }, .. }) =
            serde_json::from_str(line)
        {
            told.push(skipped_lines);
        }
    }
    assert_eq!(told.len(), 1);
    told[0]
}

#[tokio::test]
async fn damage_of_every_kind_is_counted_in_the_log_when_it_is_opened_again() {
    type Damage = fn(&mut Vec<String>, usize);
    let kinds: [(&str, Damage, &[&str]); 6] = [
        ("none", |_, _| {}, &[]),
        ("lost in the middle", |lines, at| drop(lines.remove(at)), &["MissingMessages"]),
        ("overwritten", |lines, at| lines[at] = "~~~".into(), &["Garbage", "MissingMessages"]),
        ("doubled", |lines, at| lines.insert(at, lines[at].clone()), &["Duplicate"]),
        (
            "swapped",
            |lines, at| {
                // The prompt of the second turn is the next message.
                let next = (at + 1..lines.len()).find(|at| lines[*at].contains("append_message")).unwrap();
                lines.swap(at, next);
            },
            &["MissingMessages", "OutOfPlace"],
        ),
        (
            "the last answer lost",
            |lines, _| {
                let last = lines.iter().rposition(|line| line.contains("append_message")).unwrap();
                lines.remove(last);
            },
            &["MissingMessages"],
        ),
    ];
    for (what, damage, expected) in kinds {
        let (scene, _) = two_turns().await;
        fs::remove_file(scene.workspace.path(RECORD)).unwrap();
        let mut lines: Vec<String> = scene.log().lines().map(str::to_owned).collect();
        let answer = lines.iter().position(|line| line.contains("\"index\":3,")).unwrap();
        damage(&mut lines, answer);
        scene.workspace.write(LOG, lines.join("\n") + "\n");
        assert_eq!(scene.defects().await, expected, "{what}");
        let (provider, options) = scene.options_with("On we go.");
        let session = Session::resume(options, &id("s")).await.unwrap();
        session.run("three").await.unwrap();
        provider.assert_clean();
        assert_eq!(skipped_lines(&scene), expected.len(), "{what}");
    }
}

#[tokio::test]
async fn snapshots_may_be_missing_broken_or_foreign() {
    let (scene, [_, second]) = two_turns().await;
    let record = scene.workspace.read(RECORD);
    let broken = record[..record.len() / 2].to_owned();
    let foreign = record.replacen("\"id\":\"s\"", "\"id\":\"t\"", 1);
    for (what, content, expected) in [
        ("good", Some(record.as_str()), &[][..]),
        ("missing", None, &[]),
        ("empty", Some(""), &["Snapshot"]),
        ("cut", Some(broken.as_str()), &["Snapshot"]),
        ("of another session", Some(foreign.as_str()), &["Snapshot"]),
    ] {
        match content {
            Some(content) => scene.workspace.write(RECORD, content),
            None => fs::remove_file(scene.workspace.path(RECORD)).unwrap(),
        }
        let stored = scene.store.load(&id("s")).await.unwrap();
        assert_eq!(stored.history.messages(), second, "{what}");
        assert_eq!(scene.defects().await, expected, "{what}");
    }
}

#[tokio::test]
async fn a_snapshot_and_the_rest_of_the_log_are_the_whole_log() {
    let (scene, [first, second]) = two_turns().await;
    let log = scene.log();
    // The snapshot that a shutdown after the first turn would have left.
    let (record, full) = (scene.workspace.read(RECORD), log.clone());
    scene.workspace.write(LOG, &log.as_bytes()[..end_of(&log, "complete", 0)]);
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(session.history(), first);
    session.shutdown("other").await.unwrap();
    let early_log = scene.log();
    let early = scene.workspace.read(RECORD);
    let rest = &full[end_of(&full, "complete", 0)..];
    let late = early_log.clone() + &renumber(rest, events(early_log.as_bytes()).last().unwrap().seq);
    scene.workspace.write(LOG, &late);
    scene.workspace.write(RECORD, &early);
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert!(stored.snapshot_offset > 0 && stored.defects.is_empty());
    assert_eq!(stored.history.messages(), second);
    assert_eq!(stored.turn, 2);

    // The log is the truth: a snapshot of another history is not believed.
    let lying = early.replace("\"content\":\"one\"", "\"content\":\"changed\"");
    assert_ne!(lying, early);
    scene.workspace.write(RECORD, &lying);
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!((stored.snapshot_offset, stored.history.messages()), (0, &second[..]));

    // A log that lost its end against a snapshot that has it: nothing acknowledged is lost.
    scene.workspace.write(RECORD, &record);
    scene.workspace.write(LOG, &full.as_bytes()[..end_of(&full, "complete", 0)]);
    assert_eq!(scene.defects().await, ["ShortLog"]);
    let (provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    assert_eq!(session.history(), second);
    assert_eq!(skipped_lines(&scene), 1);
    session.run("three").await.unwrap();
    provider.assert_clean();
    let history = session.history();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let stored = scene.store.load(&id("s")).await.unwrap();
    assert_eq!(stored.history.messages(), history);
}

/// The lines of `log` with numbers that follow on `after`.
fn renumber(log: &str, after: u64) -> String {
    let mut seq = after;
    let lines = log.lines().map(|line| {
        seq += 1;
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["seq"] = seq.into();
        event.to_string() + "\n"
    });
    lines.collect()
}

#[tokio::test]
async fn an_empty_or_worthless_log_still_opens() {
    for content in ["", "\0\0\0\0", "not a log", "{}\n[]\n\"x\"\n"] {
        let scene = Scene::new("Hello.");
        scene.workspace.write(LOG, content);
        let session = Session::resume(scene.options(), &id("s")).await.unwrap();
        assert_eq!(session.history(), []);
        session.run("Hi").await.unwrap();
        let history = session.history();
        session.shutdown("other").await.unwrap();
        assert_eq!(scene.store.load(&id("s")).await.unwrap().history.messages(), history, "{content:?}");
    }
}
