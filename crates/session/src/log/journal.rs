//! The one sink of a session's events: stamps them, streams them, logs them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use robota_core::{Ambient, Event, EventKind, EventSink, SessionId};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use super::queue::Queue;
use super::{Durability, LineFilter, LogMark, OpenLog, Subscription, task};

/// Takes every event of one session, gives it its place, and hands it to the log and to all
/// subscribers. What is streamed is what is logged.
///
/// Emitting never blocks: lines go to a queue that one writer task empties. The queue is bounded
/// where it can be without blocking: with more than 16 MiB waiting, deltas are left out of the log
/// (their text stands in the message they become), and the engine waits in
/// [`written`](EventSink::written) before every tool call.
///
/// In the log, consecutive text deltas are one line, written at most 100 ms after the first of them,
/// and tool progress does not appear. Numbers (`seq`) belong to the stream, so the log skips those
/// of joined and left-out events; a line of joined deltas has the number of the last one.
///
/// The first failed write or fsync is final: from then on nothing is logged, and
/// [`written`](EventSink::written), [`flush`](Journal::flush) and [`acknowledge`](Journal::acknowledge)
/// fail with it.
pub struct Journal {
    shared: Arc<Shared>,
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
        let JournalOptions { session, ambient, last_seq, durability, filter } = options;
        let (writer, location, queue) = match log {
            None => (None, String::new(), None),
            Some(OpenLog { writer, offset, location }) => {
                let end = LogMark { seq: last_seq, offset };
                (Some(writer), location, Some(Queue::new(session.clone(), end, filter)))
            }
        };
        let durable_from = (writer.is_some(), last_seq);
        let shared =
            Arc::new(Shared::new(Owner { session, ambient, durability, location }, queue, durable_from));
        if let Some(writer) = writer {
            tokio::spawn(task::write_log(Arc::clone(&shared), writer));
        }
        Self { shared }
    }

    /// All events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        let (sender, subscription) = Subscription::new();
        let mut state = self.shared.lock();
        if !state.closing {
            state.subscribers.push(sender);
        }
        subscription
    }

    /// Sets the number of the turn that the following events carry; 0 for outside of turns.
    pub fn set_turn(&self, turn: u32) {
        self.shared.lock().turn = turn;
    }

    /// Where the log ends once everything emitted so far is written.
    #[must_use]
    pub fn mark(&self) -> LogMark {
        self.shared.lock().queue.as_mut().map(Queue::settle).unwrap_or_default()
    }

    /// Whether the log still takes events.
    ///
    /// # Errors
    ///
    /// The failure that ended it.
    pub fn check(&self) -> Result<(), robota_core::Error> {
        match &self.shared.progress.borrow().failure {
            Some(failure) => Err(failure.clone().into()),
            None => Ok(()),
        }
    }

    /// Waits until everything emitted so far survives the death of the machine.
    ///
    /// # Errors
    ///
    /// When the log cannot be written.
    pub async fn flush(&self) -> Result<(), robota_core::Error> {
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
    pub fn acknowledge(&self, kind: EventKind) -> BoxFuture<'_, Result<(), robota_core::Error>> {
        let durable = self.shared.durability != Durability::None;
        self.shared.emit(kind, true);
        let request = self.request(durable);
        Box::pin(async move { self.shared.reached(request?, durable).await })
    }

    /// Writes and fsyncs what waits, gives the session free for other writers, and ends all
    /// subscriptions. Whatever is emitted later is lost.
    pub async fn close(&self) {
        self.shared.begin_closing();
        let mut progress = self.shared.progress.subscribe();
        let _ = progress.wait_for(|progress| progress.ended).await;
    }

    /// Begins to close, without waiting for the end.
    pub(crate) fn begin_closing(&self) {
        self.shared.begin_closing();
    }

    async fn reach(&self, durable: bool) -> Result<(), robota_core::Error> {
        let request = self.request(durable)?;
        self.shared.reached(request, durable).await
    }

    /// Asks the writer task for everything emitted so far; `None` when there is nothing to wait for.
    fn request(&self, durable: bool) -> Result<Option<u64>, robota_core::Error> {
        self.check()?;
        let mut state = self.shared.lock();
        if state.closing {
            return Err(closed());
        }
        let Some(queue) = &mut state.queue else { return Ok(None) };
        let seq = queue.settle().seq;
        if durable {
            state.sync_up_to = state.sync_up_to.max(seq);
        }
        drop(state);
        self.shared.wake.notify_one();
        Ok(Some(seq))
    }
}

impl EventSink for Journal {
    fn emit(&self, kind: EventKind) {
        self.shared.emit(kind, false);
    }

    fn written(&self) -> BoxFuture<'_, Result<(), robota_core::Error>> {
        Box::pin(self.reach(self.shared.durability == Durability::Event))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.begin_closing();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory;

    impl super::super::LogWriter for Memory {
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
        EventKind::User { content: "hi".into() }
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
    async fn subscribers_that_leave_or_do_not_read_hold_nobody_up() {
        let journal = journal();
        let mut idle = journal.subscribe();
        drop(journal.subscribe());
        for _ in 0..10_000 {
            journal.emit(EventKind::TextDelta { delta: "x".into() });
        }
        journal.acknowledge(user()).await.unwrap();
        assert_eq!(journal.shared.lock().subscribers.len(), 1);
        assert_eq!(idle.try_recv().unwrap().seq, 1);
        journal.close().await;
        assert!(journal.written().await.is_err());
        assert!(journal.acknowledge(user()).await.is_err());
    }
}
