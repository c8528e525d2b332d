//! What is appended is read back, also after a writer was cut off.

use robota_core::{EventKind, Message, Timestamp};

use super::Subject;
use super::lifecycle::lost;
use super::scribe::Scribe;
use crate::DefectKind;

pub(super) async fn check(made: &impl AsyncFn(&'static str) -> Subject) {
    what_is_appended_is_read_back(made("what is appended is read back").await).await;
    the_history_may_change_in_every_way(made("the history may change in every way").await).await;
    half_a_line_is_taken_off(made("half a line at the end is taken off").await).await;
    a_missing_line_break_is_added(made("a missing line break at the end is added").await).await;
}

async fn begun(subject: &Subject) -> Scribe {
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.ok(scribe.exchange("one").await.map_err(lost), "append");
    scribe
}

async fn what_is_appended_is_read_back(subject: Subject) {
    let mut scribe = begun(&subject).await;
    let large = "a line may be long, \"quoted\" and in any script: ほげ\n".repeat(2_000);
    subject.ok(scribe.exchange(&large).await.map_err(lost), "append a long line");
    subject.same(&subject.load("s").await, &scribe, "before the sync");
    subject.ok(scribe.sync().await.map_err(lost), "sync");
    subject.ok(scribe.exchange("three").await.map_err(lost), "append after a sync");
    subject.ok(scribe.sync().await.map_err(lost), "sync again");
    let mark = scribe.mark();
    scribe.close();
    for round in 0..3 {
        let (stored, log) = subject.open("s").await;
        subject.same(&stored, &scribe, "opened again");
        subject.promise(
            log.offset == mark.offset && stored.defects.is_empty(),
            format_args!("opening an intact session changes nothing (time {round})"),
        );
    }
    let (_, log) = subject.open("s").await;
    scribe.go_on(log);
    subject.ok(scribe.exchange("four").await.map_err(lost), "append to a session opened again");
    subject.same(&subject.load("s").await, &scribe, "gone on with");
}

async fn the_history_may_change_in_every_way(subject: Subject) {
    let mut scribe = begun(&subject).await;
    subject.ok(scribe.exchange("two").await.map_err(lost), "append");
    subject.ok(scribe.change(|history| history.truncate(3)).await.map_err(lost), "append a rewind");
    subject.same(&subject.load("s").await, &scribe, "after a rewind");
    let summary = Message::user("summary", Timestamp::default(), "what was said");
    let compacted = scribe.change(|history| history.replace(vec![summary.into()])).await;
    subject.ok(compacted.map_err(lost), "append a compaction");
    subject.ok(scribe.exchange("three").await.map_err(lost), "append");
    subject.same(&subject.load("s").await, &scribe, "after a compaction");
    subject.ok(scribe.change(|history| history.clear()).await.map_err(lost), "append a clear");
    subject.ok(scribe.exchange("four").await.map_err(lost), "append");
    subject.same(&subject.load("s").await, &scribe, "after a clear");
}

async fn half_a_line_is_taken_off(subject: Subject) {
    let mut scribe = begun(&subject).await;
    let whole = scribe.mark();
    let line = subject.ok(scribe.line(EventKind::SessionName { name: None }).map_err(lost), "a line");
    let half = line.get(..line.len() / 2).unwrap_or_default();
    if scribe.raw(half).await.is_err() {
        // A store that takes whole lines alone never has half a one.
        return;
    }
    scribe.close();
    let stored = subject.load("s").await;
    let torn: Vec<DefectKind> = stored.defects.listed().iter().map(|defect| defect.kind).collect();
    subject
        .promise(torn == [DefectKind::TornTail], format_args!("a reader is told of the half line: {torn:?}"));
    let (stored, log) = subject.open("s").await;
    subject.promise(
        (stored.mark, log.offset) == (whole, whole.offset),
        format_args!("the log ends where the half line began, at {whole:?}, not at {:?}", stored.mark),
    );
    drop(log);
    subject.promise(subject.load("s").await.defects.is_empty(), "an opened log is repaired");
}

async fn a_missing_line_break_is_added(subject: Subject) {
    let mut scribe = begun(&subject).await;
    let prompt = scribe.history.append(Message::user("last", Timestamp::default(), "the last words"));
    let line = subject.ok(scribe.line(EventKind::HistoryMutation(prompt)).map_err(lost), "a line");
    if scribe.raw(line.strip_suffix(b"\n").unwrap_or(&line)).await.is_err() {
        return;
    }
    subject.same(&subject.load("s").await, &scribe, "a whole event counts without its line break");
    scribe.close();
    let (stored, log) = subject.open("s").await;
    scribe.go_on(log);
    subject.same(&stored, &scribe, "opened again");
    subject.ok(scribe.exchange("two").await.map_err(lost), "append after a line that had no end");
    let stored = subject.load("s").await;
    subject.same(&stored, &scribe, "the next line stands by itself");
    subject.promise(stored.defects.is_empty(), "a line break that was added is no defect");
}
