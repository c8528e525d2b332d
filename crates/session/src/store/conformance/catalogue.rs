//! What sessions there are, and which one a person means.

use std::path::Path;

use serde_json::json;

use super::lifecycle::lost;
use super::{Subject, id};
use crate::store::Snapshot;
use crate::{ErrorKind, SessionHead};

pub(super) async fn check(made: &impl AsyncFn(&'static str) -> Subject) {
    a_head_tells_what_happened_last(made("a head tells what happened last").await).await;
    sessions_are_found(made("sessions are listed latest first and found").await).await;
    what_cannot_be_read_is_named(made("a listing names what it cannot read").await).await;
}

async fn head(subject: &Subject) -> SessionHead {
    let head = subject.ok(subject.other().head(&id("s")).await, "the head of `s`");
    let listing = subject.ok(subject.other().list().await, "list");
    let listed = listing.sessions.into_iter().find(|head| head.id == id("s"));
    subject.promise(
        head.is_some() && head == listed,
        format_args!("head and listing agree: {head:?}, {listed:?}"),
    );
    head.unwrap_or_else(|| SessionHead::new(id("s"), "", robota_core::Timestamp::default()))
}

async fn a_head_tells_what_happened_last(subject: Subject) {
    let mut scribe = subject.create("s").await;
    scribe.name = Some("first".to_owned());
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.ok(scribe.exchange("how it  began\n").await.map_err(lost), "append");
    let told = head(&subject).await;
    subject.promise(
        (told.name.as_deref(), told.cwd.as_path(), told.preview.as_deref())
            == (Some("first"), Path::new("/work"), Some("how it began")),
        format_args!("without a snapshot, the log tells name, folder and first prompt: {told:?}"),
    );
    let snapshot = subject.ok(scribe.snapshot(5, json!({})), "a snapshot");
    let taken = snapshot.head.clone();
    subject.ok(subject.one().save(snapshot).await, "save");
    let told = head(&subject).await;
    subject
        .promise(told == taken, format_args!("with a snapshot, the snapshot tells: {told:?}, not {taken:?}"));
    subject.ok(scribe.rename("second").await.map_err(lost), "append");
    let told = head(&subject).await;
    subject.promise(told.name.as_deref() == Some("second"), "a name given after the snapshot counts");
    subject.promise(told.updated_at >= taken.updated_at, "the time of the last change never goes back");
    scribe.close();
    subject.promise(head(&subject).await.name.as_deref() == Some("second"), "closing changes nothing");
}

async fn sessions_are_found(subject: Subject) {
    let made = [("abc-1", "login", "/p", 3), ("abc-2", "twin", "/p", 9), ("xyz", "twin", "/q", 6)];
    for (name, called, cwd, minutes) in made {
        let mut scribe = subject.create(name).await;
        (scribe.name, scribe.cwd) = (Some(called.to_owned()), cwd.into());
        subject.ok(scribe.begin().await.map_err(lost), "append");
        let snapshot = subject.ok(scribe.snapshot(minutes, json!({})), "a snapshot");
        subject.ok(subject.one().save(snapshot).await, "save");
    }
    let store = subject.other();
    let listing = subject.ok(store.list().await, "list");
    let order: Vec<&str> = listing.sessions.iter().map(|head| head.id.as_str()).collect();
    subject.promise(order == ["abc-2", "xyz", "abc-1"], format_args!("the latest comes first: {order:?}"));
    for (query, found) in [("abc-1", "abc-1"), ("login", "abc-1"), ("xy", "xyz")] {
        let head = subject.ok(store.find(query).await, format_args!("find `{query}`"));
        subject.promise(head.id == id(found), format_args!("`{query}` is {found}, not {}", head.id));
    }
    for query in ["twin", "abc"] {
        let error =
            subject.refused(store.find(query).await, &[ErrorKind::Ambiguous], format_args!("`{query}`"));
        subject.promise(error.candidates().len() == 2, "both candidates are named");
    }
    for query in ["nobody", "", "../abc-1", "ABC"] {
        subject.refused(store.find(query).await, &[ErrorKind::NotFound], format_args!("`{query}`"));
    }
    for (cwd, latest) in [("/p", Some("abc-2")), ("/q", Some("xyz")), ("/nowhere", None)] {
        let head = subject.ok(store.latest_for(Path::new(cwd)).await, "the latest of a folder");
        let head = head.as_ref().map(|head| head.id.as_str());
        subject.promise(head == latest, format_args!("the latest of {cwd} is {latest:?}, not {head:?}"));
    }
}

async fn what_cannot_be_read_is_named(subject: Subject) {
    let mut scribe = subject.create("good").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    drop(subject.create("empty").await);
    drop(subject.create("bad").await);
    let head = SessionHead::new(id("bad"), "/work", robota_core::Timestamp::default());
    subject.ok(subject.one().save(Snapshot::new(head, b"{\"id\":".to_vec())).await, "save whatever there is");
    let listing = subject.ok(subject.other().list().await, "a listing is never lost for one session");
    for name in ["good", "empty", "bad"] {
        let listed = listing.sessions.iter().filter(|head| head.id == id(name)).count();
        let skipped =
            listing.skipped.iter().filter(|file| file.path.to_string_lossy().contains(name)).count();
        subject.promise(
            listed + skipped == 1,
            format_args!("`{name}` is listed, or named among what could not be read: {listing:?}"),
        );
    }
    subject.promise(listing.sessions.iter().any(|head| head.id == id("good")), "good ones are listed");
    for name in ["empty", "bad"] {
        let there = subject.ok(subject.one().head(&id(name)).await, "its head");
        subject.promise(there.is_some(), format_args!("`{name}` has a head, if only its id"));
        drop(subject.open(name).await);
    }
}
