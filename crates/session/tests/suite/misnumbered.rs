//! Logs in which a number is damaged: it costs no message that can be read.

use std::fs;

use robota_core::MessageRef;
use robota_session::{LogFold, Session, SessionStore};
use robota_testkit::Script;

use crate::scene::{Scene, id};

const LOG: &str = ".robota/logs/s.jsonl";
const RECORD: &str = ".robota/sessions/s.json";

/// The lines of the log of three turns, and its history; there is no snapshot.
async fn three_turns() -> (Scene, Vec<String>, Vec<MessageRef>) {
    let script = Script::new().reply("One.").reply("Two.").reply("Three.");
    let scene = Scene::new(script);
    let session = Session::create(scene.options()).await.unwrap();
    for prompt in ["one", "two", "three"] {
        session.run(prompt).await.unwrap();
    }
    let history = session.history();
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    let lines = scene.log().lines().map(str::to_owned).collect();
    (scene, lines, history)
}

/// The messages in `lines`, and what was wrong with them.
fn folded(lines: &[String]) -> (Vec<MessageRef>, Vec<String>) {
    let mut fold = LogFold::new(id("s"));
    fold.read((lines.join("\n") + "\n").as_bytes()).unwrap();
    let stored = fold.finish();
    let told = stored.defects.listed().iter().map(|defect| format!("{:?}", defect.kind)).collect();
    (stored.history.messages().to_vec(), told)
}

#[tokio::test]
async fn any_wrong_length_or_index_costs_no_message() {
    let (_, lines, history) = three_turns().await;
    let mut changed = 0;
    for at in 0..lines.len() {
        for field in ["\"length\":", "\"index\":"] {
            let Some((before, rest)) = lines[at].split_once(field) else { continue };
            let digits = rest.find(|char: char| !char.is_ascii_digit()).unwrap();
            for number in ["0", "1", "2", "3", "4", "5", "7", "9", "99", "4294967296", "18446744073709551615"]
            {
                if number == &rest[..digits] {
                    continue;
                }
                let mut damaged = lines.clone();
                damaged[at] = format!("{before}{field}{number}{}", &rest[digits..]);
                let (messages, defects) = folded(&damaged);
                assert_eq!(messages, history, "{} {defects:?}", damaged[at]);
                assert!(defects.len() <= 1, "{} {defects:?}", damaged[at]);
                changed += 1;
            }
        }
    }
    assert!(changed > 100);
}

#[tokio::test]
async fn any_wrong_higher_position_costs_no_message() {
    let (_, lines, history) = three_turns().await;
    for at in 0..lines.len() {
        let (before, rest) = lines[at].split_once("\"seq\":").unwrap();
        let digits = rest.find(',').unwrap();
        for number in ["90", "9007199254740993", "18446744073709551615"] {
            let mut damaged = lines.clone();
            damaged[at] = format!("{before}\"seq\":{number}{}", &rest[digits..]);
            let (messages, defects) = folded(&damaged);
            assert_eq!(messages, history, "{}", damaged[at]);
            let expected: &[&str] = if number == "90" { &[] } else { &["OutOfPlace"] };
            assert_eq!(defects, expected, "{}", damaged[at]);
        }
    }
}

#[tokio::test]
async fn swapped_lines_cost_no_message_and_keep_their_order() {
    let (_, lines, history) = three_turns().await;
    let changes: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("append_message")).collect();
    for pair in changes.windows(2) {
        let mut swapped = lines.clone();
        swapped.swap(pair[0], pair[1]);
        assert_eq!(folded(&swapped).0, history, "{pair:?}");
    }
    for at in 1..lines.len() {
        let mut swapped = lines.clone();
        swapped.swap(at - 1, at);
        assert_eq!(folded(&swapped).0, history, "{at}");
    }
}

#[tokio::test]
async fn what_follows_a_lost_rewind_is_kept() {
    let (scene, _, mut history) = three_turns().await;
    let session = Session::resume(scene.options_with("Four.").1, &id("s")).await.unwrap();
    session.rewind(2).await.unwrap();
    session.run("four").await.unwrap();
    let after = session.history();
    session.shutdown("other").await.unwrap();
    let mut lines: Vec<String> = scene.log().lines().map(str::to_owned).collect();
    lines.retain(|line| !line.contains("\"truncate\""));
    let (messages, defects) = folded(&lines);
    let new = after.iter().filter(|message| !history.contains(message)).cloned().collect::<Vec<_>>();
    assert_eq!(new.len(), 2);
    history.extend(new);
    assert_eq!(messages, history);
    assert_eq!(defects, ["OutOfPlace"]);
}

#[tokio::test]
async fn a_session_goes_on_after_an_impossible_position() {
    let (scene, mut lines, history) = three_turns().await;
    let last = lines.last().unwrap().clone();
    let (before, rest) = last.split_once("\"seq\":").unwrap();
    let number = rest.find(',').unwrap();
    lines.push(format!("{before}\"seq\":{}{}", u64::MAX, &rest[number..]));
    scene.workspace.write(LOG, lines.join("\n") + "\n");
    assert_eq!(scene.defects().await, ["OutOfPlace"]);
    let (provider, options) = scene.options_with("On we go.");
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("four").await.unwrap();
    provider.assert_clean();
    let longer = session.history();
    assert!(longer.len() == history.len() + 2 && longer.starts_with(&history));
    session.shutdown("other").await.unwrap();
    fs::remove_file(scene.workspace.path(RECORD)).unwrap();
    assert_eq!(scene.store.load(&id("s")).await.unwrap().history.messages(), longer);
}
