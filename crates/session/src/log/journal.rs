//! The one sink of a session's events: stamps them, streams them, logs them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{Ambient, Error, EventKind, EventSink, SessionId};

use super::bus::{Bus, LogEnd};
use super::{Durability, LineFilter, LogMark, OpenLog, Subscription, task};

/// Takes every event of one session, gives it its place, and hands it to the log and to all
/// subscribers. What is streamed is what is logged.
///
/// Emitting never blocks: lines go to a queue that one writer task empties. The queue is bounded
/// where it can be without blocking: with more than 16 MiB waiting, deltas are left out of the log
/// (their text stands in the message they become), and the engine waits in
/// [`written`](EventSink::written) before every tool call.
///
/// In the log, consecutive text deltas are one line, written 50 ms after the first of them at the
/// latest, and tool progress does not appear. Numbers (`seq`) belong to the stream, so the log skips
/// those of joined and left-out events; a line of joined deltas has the number of the last one.
/// With a [filter](JournalOptions::filter), the end of a text that may begin a secret waits for more text or
/// another event, so that the filter sees secrets whole that come in pieces; it may take a number of
/// its own, which the stream then skips. [`flush`](Journal::flush) writes it too.
/// Fields larger than 32 KiB stand in payloads of their own where the log keeps such, equal ones once.
///
/// The first failed write or fsync is final: from then on nothing is logged, and
/// [`written`](EventSink::written), [`flush`](Journal::flush) and [`acknowledge`](Journal::acknowledge)
/// fail with it.
pub struct Journal {
    bus: Arc<Bus>,
}

/// What a journal starts from.
#[non_exhaustive]
pub struct JournalOptions {
    /// The session.
    pub session: SessionId,
    /// Where times come from.
    pub ambient: Ambient,
    /// Position of the last event so far; 0 for a new session.
    pub last_seq: u64,
    /// When the log is made to survive the death of the machine.
    pub durability: Durability,
    /// Goes over every line before it is logged.
    pub filter: Option<LineFilter>,
}

impl JournalOptions {
    /// The journal of a new session, with default durability and no filter.
    #[must_use]
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            ambient: Ambient::default(),
            last_seq: 0,
            durability: Durability::default(),
            filter: None,
        }
    }
}

impl Journal {
    /// Starts a journal on `log`; without a log, events are streamed and otherwise forgotten.
    ///
    /// # Panics
    ///
    /// With a log, outside of a tokio runtime with its time driver enabled.
    #[must_use]
    pub fn start(options: JournalOptions, log: Option<OpenLog>) -> Self {
        let (writer, log) = match log {
            None => (None, None),
            Some(OpenLog { writer, offset, location }) => {
                let end = LogMark { seq: options.last_seq, offset };
                let keeps_payloads = writer.keeps_payloads();
                (Some(writer), Some(LogEnd { end, location, keeps_payloads }))
            }
        };
        let bus = Arc::new(Bus::new(options, log));
        if let Some(writer) = writer {
            tokio::spawn(task::write_log(Arc::clone(&bus), writer));
        }
        Self { bus }
    }

    /// All events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.bus.subscribe()
    }

    /// Sets the number of the turn that the following events carry; 0 for outside of turns.
    pub fn set_turn(&self, turn: u32) {
        self.bus.set_turn(turn);
    }

    /// Where the log ends once everything emitted so far is written.
    #[must_use]
    pub fn mark(&self) -> LogMark {
        self.bus.mark()
    }

    /// Whether the log still takes events.
    ///
    /// # Errors
    ///
    /// The failure that ended it.
    pub fn check(&self) -> Result<(), Error> {
        self.bus.check()
    }

    /// Waits until everything emitted so far survives the death of the machine.
    ///
    /// # Errors
    ///
    /// When the log cannot be written.
    pub async fn flush(&self) -> Result<(), Error> {
        self.reach(true).await
    }

    /// Emits `kind`, which promises that everything up to it is durable, and waits until it is:
    /// until the fsync, or with [`Durability::None`] until the write. Subscribers see the event, and
    /// whatever is emitted after it, only then.
    ///
    /// Once called, the promise is kept even when the future is dropped.
    ///
    /// # Errors
    ///
    /// When the log cannot be written; no subscriber ever sees the event then.
    pub fn acknowledge(&self, kind: EventKind) -> BoxFuture<'_, Result<(), Error>> {
        let durable = self.bus.durability() != Durability::None;
        self.bus.emit(kind, true);
        let request = self.bus.request(durable);
        Box::pin(async move { self.bus.reached(request?, durable).await })
    }

    /// Writes and fsyncs what waits, gives the session free for other writers, and ends all
    /// subscriptions. Whatever is emitted later is lost.
    pub async fn close(&self) {
        self.bus.begin_closing();
        self.bus.wait_for_end().await;
    }

    /// Begins to close, without waiting for the end.
    pub(crate) fn begin_closing(&self) {
        self.bus.begin_closing();
    }

    async fn reach(&self, durable: bool) -> Result<(), Error> {
        let request = self.bus.request(durable)?;
        self.bus.reached(request, durable).await
    }
}

impl EventSink for Journal {
    fn emit(&self, kind: EventKind) {
        self.bus.emit(kind, false);
    }

    fn written(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.reach(self.bus.durability() == Durability::Event))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.bus.begin_closing();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::LogWriter;

    struct Memory;

    impl LogWriter for Memory {
        fn append<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
            Box::pin(async { Ok(()) })
        }

        fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    fn journal() -> Journal {
        let log = OpenLog::new(Box::new(Memory), 0, "memory");
        Journal::start(JournalOptions::new("s".parse().unwrap()), Some(log))
    }

    fn user() -> EventKind {
        EventKind::User { content: "hi".into(), steering: false }
    }

    #[test]
    fn a_writer_whose_runtime_is_gone_is_an_error_and_no_hang() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let first = runtime();
        let journal = first.block_on(async { journal() });
        drop(first);
        journal.emit(user());
        let error = runtime().block_on(journal.flush()).unwrap_err();
        assert!(error.to_string().contains("runtime"), "{error}");
        runtime().block_on(journal.close());
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_encoded_ends_the_log_and_is_not_skipped() {
        let journal = journal();
        journal.emit(user());
        journal.written().await.unwrap();
        journal.bus.emit_unencodable();
        let error = journal.acknowledge(user()).await.unwrap_err();
        assert!(error.to_string().contains("event 2 cannot be encoded"), "{error}");
        assert!(error.hint().unwrap().contains("everything acknowledged so far is on disk"));
        assert!(journal.check().is_err());
        journal.close().await;
    }

    #[tokio::test]
    async fn subscribers_that_leave_or_do_not_read_hold_nobody_up() {
        let journal = journal();
        let mut idle = journal.subscribe();
        drop(journal.subscribe());
        for _ in 0..10_000 {
            journal.emit(EventKind::TextDelta { delta: "x".into() });
        }
        journal.acknowledge(user()).await.unwrap();
        assert_eq!(journal.bus.subscribers(), 1);
        assert_eq!(idle.try_recv().unwrap().seq, 1);
        journal.close().await;
        assert!(journal.written().await.is_err());
        assert!(journal.acknowledge(user()).await.is_err());
    }

    /// Keeps the log where the test can see it.
    #[derive(Clone, Default)]
    struct Kept(Arc<std::sync::Mutex<String>>);

    impl LogWriter for Kept {
        fn append<'a>(&'a mut self, lines: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
            self.0.lock().unwrap().push_str(str::from_utf8(lines).unwrap());
            Box::pin(async { Ok(()) })
        }

        fn sync(&mut self) -> BoxFuture<'_, io::Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_comes_in_pieces_is_never_logged_and_all_other_text_is_at_once() {
        let kept = Kept::default();
        let mut options = JournalOptions::new("s".parse().unwrap());
        options.filter = Some(crate::redacting_filter(robota_core::Redactor::new(["sk-ant-12345678"])));
        let journal = Journal::start(options, Some(OpenLog::new(Box::new(kept.clone()), 0, "memory")));
        let pieces = [
            ("The k", "The k"),
            ("ey: sk-", "The key: "),
            ("ant-1234", "The key: "),
            ("5678", "The key: [REDACTED]"),
            (", and", "The key: [REDACTED], and"),
            (" s", "The key: [REDACTED], and "),
            ("o", "The key: [REDACTED], and so"),
        ];
        for (delta, logged) in pieces {
            journal.emit(EventKind::TextDelta { delta: delta.into() });
            // The clock goes on when the writer has nothing left to do.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            assert_eq!(deltas(&kept), logged);
        }
        journal.close().await;
        assert_eq!(deltas(&kept), "The key: [REDACTED], and so");
    }

    fn deltas(log: &Kept) -> String {
        let log = log.0.lock().unwrap();
        let events = log.lines().map(|line| serde_json::from_str(line).unwrap());
        events
            .map(|event: robota_core::Event| match event.kind {
                EventKind::TextDelta { delta } => delta,
                kind => panic!("{kind:?}"),
            })
            .collect()
    }
}
