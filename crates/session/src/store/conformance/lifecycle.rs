//! Sessions come to be, are open in one place, and are deleted.

use super::{Subject, id};
use crate::ErrorKind;

pub(super) async fn check(made: &impl AsyncFn(&'static str) -> Subject) {
    a_session_is_made_once(made("a session is made once").await).await;
    a_session_that_is_not_there(made("a session that is not there").await).await;
    there_is_one_writer(made("there is one writer").await).await;
    a_deleted_session_is_gone(made("a deleted session is gone").await).await;
    every_legal_id_is_a_session(made("every legal id is a session of its own").await).await;
}

async fn a_session_is_made_once(subject: Subject) {
    let name = id("s");
    let mut scribe = subject.create("s").await;
    let again = [ErrorKind::Exists, ErrorKind::Locked];
    subject.refused(subject.one().create(&name).await, &again, "making a session that is open");
    subject.refused(subject.other().create(&name).await, &again, "making a session that is open elsewhere");
    subject.ok(scribe.begin().await.map_err(lost), "append after a refused create");
    drop(scribe);
    subject.refused(
        subject.other().create(&name).await,
        &[ErrorKind::Exists],
        "making a session that exists",
    );
    let (stored, log) = subject.open("s").await;
    subject.promise(stored.mark.seq == 1, "a refused create leaves the session as it was");
    drop(log);
}

async fn a_session_that_is_not_there(subject: Subject) {
    let name = id("nobody");
    subject.refused(subject.one().open(&name).await, &[ErrorKind::NotFound], "opening it");
    subject.refused(subject.one().load(&name).await, &[ErrorKind::NotFound], "loading it");
    let head = subject.ok(subject.one().head(&name).await, "the head of a missing session");
    subject.promise(head.is_none(), "its head is None");
    subject.ok(subject.one().delete(&name).await, "deleting it is no error");
    let listing = subject.ok(subject.other().list().await, "listing an empty store");
    subject.promise(
        listing.sessions.is_empty() && listing.skipped.is_empty(),
        "looking for a session leaves no trace in the listing",
    );
    subject.create("nobody").await;
}

async fn there_is_one_writer(subject: Subject) {
    let name = id("s");
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    for store in [subject.one(), subject.other()] {
        let error = subject.refused(store.open(&name).await, &[ErrorKind::Locked], "opening an open session");
        subject.promise(error.lock_owner().is_some(), "the refusal says who has the session open");
        subject.refused(store.delete(&name).await, &[ErrorKind::Locked], "deleting an open session");
    }
    subject.ok(scribe.exchange("one").await.map_err(lost), "append after others were refused");
    subject.same(&subject.load("s").await, &scribe, "a reader beside the writer");
    let head = subject.ok(subject.other().head(&name).await, "the head of an open session");
    subject.promise(head.is_some(), "an open session has a head");
    drop(scribe);
    let (_, log) = subject.open("s").await;
    subject.refused(subject.other().open(&name).await, &[ErrorKind::Locked], "opening it a second time");
    drop(log);
    let opened = subject.other().open(&name).await;
    drop(subject.ok(opened, "a dropped log gives the session free, also for others"));
}

async fn a_deleted_session_is_gone(subject: Subject) {
    let name = id("s");
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.ok(scribe.exchange("one").await.map_err(lost), "append");
    let snapshot = subject.ok(scribe.snapshot(1, serde_json::Value::Null), "a snapshot");
    subject.ok(subject.one().save(snapshot).await, "save a snapshot");
    drop(scribe);
    drop(subject.create("t").await);
    subject.ok(subject.other().delete(&name).await, "delete");
    subject.refused(subject.one().open(&name).await, &[ErrorKind::NotFound], "opening a deleted session");
    subject.refused(subject.one().load(&name).await, &[ErrorKind::NotFound], "loading a deleted session");
    let head = subject.ok(subject.one().head(&name).await, "the head of a deleted session");
    subject.promise(head.is_none(), "a deleted session has no head");
    let there = subject.ok(subject.one().head(&id("t")).await, "the head of another session");
    subject.promise(there.is_some(), "the other sessions stay");
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.same(&subject.load("s").await, &scribe, "a session made after one of its id was deleted");
}

async fn every_legal_id_is_a_session(subject: Subject) {
    let long = "x".repeat(128);
    let names =
        ["0", "a", "a.b", "a-b", "a_b", "a..b", "a.json", "a.jsonl", "a.lock", "a.payloads", "con", &long];
    let mut scribes = Vec::new();
    for name in names {
        let mut scribe = subject.create(name).await;
        scribe.name = Some(format!("name of {name}"));
        subject.ok(scribe.begin().await.map_err(lost), "append");
        scribes.push(scribe);
    }
    // All open at once, and written in turn.
    for scribe in &mut scribes {
        let text = format!("prompt of {}", scribe.id);
        subject.ok(scribe.exchange(&text).await.map_err(lost), "append");
    }
    for scribe in &scribes {
        let stored = subject.load(scribe.id.as_str()).await;
        subject.same(&stored, scribe, &format!("session {}", scribe.id));
        subject.promise(stored.name == scribe.name, format_args!("session {} has its own name", scribe.id));
    }
    let count = scribes.len();
    drop(scribes);
    let listing = subject.ok(subject.one().list().await, "list");
    subject.promise(
        listing.sessions.len() == count && listing.skipped.is_empty(),
        format_args!("all {count} sessions are listed, and nothing else: {listing:?}"),
    );
}

pub(super) fn lost(error: std::io::Error) -> crate::Error {
    crate::Error::storage("the log did not take it", error)
}
