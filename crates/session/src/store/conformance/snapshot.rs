//! Snapshots shorten the way, and never change what a session is.

use serde_json::json;

use super::lifecycle::lost;
use super::scribe::Scribe;
use super::{Subject, id};
use crate::store::Snapshot;
use crate::{DefectKind, ErrorKind};

pub(super) async fn check(made: &impl AsyncFn(&'static str) -> Subject) {
    snapshot_and_rest_are_the_session(made("a snapshot and the rest of the log are the session").await).await;
    the_last_snapshot_counts(made("the last snapshot counts").await).await;
    a_broken_snapshot_costs_nothing(made("a broken snapshot costs nothing").await).await;
    a_newer_snapshot_is_left_alone(made("a snapshot of a newer version is left alone").await).await;
}

async fn saved(subject: &Subject, scribe: &Scribe, minutes: i64) {
    let snapshot = subject.ok(scribe.snapshot(minutes, json!({"note": minutes})), "a snapshot");
    subject.ok(subject.other().save(snapshot).await, "save a snapshot of a session that is open");
}

async fn begun(subject: &Subject) -> Scribe {
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.ok(scribe.exchange("one").await.map_err(lost), "append");
    scribe
}

async fn snapshot_and_rest_are_the_session(subject: Subject) {
    let mut scribe = begun(&subject).await;
    for step in ["nothing", "a compaction", "a rewind", "a clear"] {
        let changed = match step {
            "a compaction" => scribe.change(|history| history.replace(history.messages().to_vec())).await,
            "a rewind" => scribe.change(|history| history.truncate(1)).await,
            "a clear" => scribe.change(|history| history.clear()).await,
            _ => Ok(()),
        };
        subject.ok(changed.map_err(lost), "append");
        saved(&subject, &scribe, 1).await;
        subject.same(&subject.load("s").await, &scribe, &format!("a snapshot after {step}"));
        subject.ok(scribe.exchange(step).await.map_err(lost), "append after a snapshot");
        let stored = subject.load("s").await;
        subject.same(&stored, &scribe, &format!("a snapshot after {step}, and a turn"));
        subject.promise(stored.defects.is_empty(), format_args!("it fits: {}", stored.defects));
        subject.promise(stored.system_prompt.as_deref() == Some("Be brief."), "the system prompt is known");
    }
}

async fn the_last_snapshot_counts(subject: Subject) {
    let mut scribe = begun(&subject).await;
    for minutes in 1..4 {
        saved(&subject, &scribe, minutes).await;
        let stored = subject.load("s").await;
        subject.promise(
            stored.extra.get("note") == Some(&json!(minutes)),
            format_args!("snapshot {minutes} has replaced the one before, fields of others included"),
        );
        subject.ok(scribe.exchange("more").await.map_err(lost), "append");
    }
    scribe.close();
    let (stored, log) = subject.open("s").await;
    subject.same(&stored, &scribe, "opened again");
    drop(log);
}

async fn a_broken_snapshot_costs_nothing(subject: Subject) {
    let mut scribe = begun(&subject).await;
    let good = subject.ok(scribe.snapshot(1, json!({})), "a snapshot");
    scribe.close();
    let flipped = |at: usize| {
        let mut json = good.json.clone();
        if let Some(byte) = json.get_mut(at) {
            *byte ^= 1;
        }
        json
    };
    let half = good.json.get(..good.json.len() / 2).unwrap_or_default().to_vec();
    let in_a_text = good.json.windows(8).rposition(|text| text == b"you say?").unwrap_or_default();
    for (what, json) in [
        ("empty", Vec::new()),
        ("cut in half", half),
        ("zeros", vec![0; 4096]),
        ("changed by a bit", flipped(in_a_text)),
        ("no record", b"[1,2,3]".to_vec()),
    ] {
        subject
            .ok(subject.one().save(Snapshot::new(good.head.clone(), json)).await, "save whatever there is");
        let stored = subject.load("s").await;
        subject.same(&stored, &scribe, &format!("a snapshot that is {what}"));
        let told: Vec<DefectKind> = stored.defects.listed().iter().map(|defect| defect.kind).collect();
        subject.promise(
            told == [DefectKind::Snapshot],
            format_args!("one defect tells that the snapshot is {what}, not {told:?}"),
        );
        let listing = subject.ok(subject.one().list().await, "list");
        let listed = listing.sessions.iter().any(|head| head.id == id("s"));
        subject.promise(listed, format_args!("a session whose snapshot is {what} is listed all the same"));
    }
    let (stored, log) = subject.open("s").await;
    subject.same(&stored, &scribe, "opened with a broken snapshot");
    drop(log);
}

async fn a_newer_snapshot_is_left_alone(subject: Subject) {
    let mut scribe = begun(&subject).await;
    let mut record = scribe.record(1, json!({}));
    if let Some(log) = &mut record.log {
        log.version = 1000;
    }
    let head = record.head();
    let newer = subject.ok(record.encode(None), "a record");
    subject.ok(subject.one().save(Snapshot::new(head, newer)).await, "save");
    scribe.close();
    for round in 0..2 {
        let error =
            subject.refused(subject.one().open(&id("s")).await, &[ErrorKind::NewerVersion], "opening it");
        let told = error.to_string().contains("log.version") && error.to_string().contains("1000");
        subject.promise(told, format_args!("the refusal names field and version (time {round}): {error}"));
    }
    subject.refused(subject.other().load(&id("s")).await, &[ErrorKind::NewerVersion], "loading it");
    let head = subject.ok(subject.one().head(&id("s")).await, "its head");
    subject
        .promise(head.is_some_and(|head| head.message_count == Some(2)), "it is listed with what it tells");
}
