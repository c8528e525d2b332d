//! Logs are given out whole, and so are fields that a store keeps apart.

use robota_core::{EventKind, EventSink, History, Message, Timestamp};

use super::lifecycle::lost;
use super::{Subject, id};
use crate::{Journal, JournalOptions, LogItem};

pub(super) async fn check(made: &impl AsyncFn(&'static str) -> Subject) {
    a_log_is_given_out(made("a log is given out").await).await;
    large_fields_come_back(made("large fields come back").await).await;
}

async fn a_log_is_given_out(subject: Subject) {
    subject.promise(given_out(&subject, "s").await.is_none(), "a session that is not there has no log");
    let mut scribe = subject.create("s").await;
    subject.ok(scribe.begin().await.map_err(lost), "append");
    subject.ok(scribe.exchange("one").await.map_err(lost), "append");
    let numbers: Option<Vec<u64>> = given_out(&subject, "s").await.map(|events| {
        let number = |item: &LogItem| if let LogItem::Event(event) = item { event.seq } else { 0 };
        events.iter().map(number).collect()
    });
    subject.promise(
        numbers == Some((1..=scribe.mark().seq).collect()),
        format_args!("a log is given out with every event, also while it is open: {numbers:?}"),
    );
}

async fn large_fields_come_back(subject: Subject) {
    let log = subject.ok(subject.one().create(&id("s")).await, "create");
    let journal = Journal::start(JournalOptions::new(id("s")), log);
    let (mut history, large) =
        (History::default(), "large, \"quoted\" and in any script: ほげ\n".repeat(5_000));
    for number in 0..3 {
        let message = Message::user(format!("u{number}"), Timestamp::default(), &*large);
        journal.emit(EventKind::HistoryMutation(history.append(message)));
    }
    let flushed = journal.flush().await.map_err(crate::Error::from);
    subject.ok(flushed, "append large fields");
    let stored = subject.load("s").await;
    subject.promise(
        stored.defects.is_empty() && stored.history.reference() == history.reference(),
        format_args!("large fields are loaded as they were: {}", stored.defects),
    );
    let whole = given_out(&subject, "s").await.unwrap_or_default();
    let told = whole.iter().filter(|item| {
        matches!(item, LogItem::Event(event) if serde_json::to_string(&event.kind).is_ok_and(|json| json.len() > large.len()))
    });
    subject.promise(told.count() == 3, "large fields are given out with the log");
    journal.close().await;
    subject.ok(subject.one().delete(&id("s")).await, "delete");
    subject.promise(given_out(&subject, "s").await.is_none(), "a deleted session has no log");
}

/// What reading the log of the session comes to.
async fn given_out(subject: &Subject, name: &str) -> Option<Vec<LogItem>> {
    let source = subject.ok(subject.other().read_log(&id(name)).await, "read the log")?;
    let items = source.into_reader().map(|item| subject.ok(item.map_err(lost), "read the log"));
    Some(items.collect())
}
