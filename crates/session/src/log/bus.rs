//! What emitters, subscribers and the writer task of a journal share.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::{Ambient, Error, Event, EventKind, SessionId};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use super::failure::{LogFailure, closed};
use super::queue::Queue;
use super::{Durability, JournalOptions, LogMark, Payload, Subscription};

/// How far the writer task has come.
struct Progress {
    written: u64,
    synced: u64,
    failure: Option<LogFailure>,
    ended: bool,
}

/// Between those who emit and subscribe, and the one task that writes.
pub(super) struct Bus {
    session: SessionId,
    ambient: Ambient,
    durability: Durability,
    location: Arc<str>,
    /// Whether the log held nothing when it was opened.
    began_empty: bool,
    /// Position of the last event that was there when it was opened.
    began_at: u64,
    state: Mutex<State>,
    pub(super) wake: Notify,
    progress: watch::Sender<Progress>,
}

struct State {
    seq: u64,
    turn: u32,
    subscribers: Vec<mpsc::UnboundedSender<Arc<Event>>>,
    /// Events behind an acknowledgement that is not durable yet, that one first.
    held: VecDeque<Held>,
    queue: Option<Queue>,
    failed: bool,
    sync_up_to: u64,
    closing: bool,
}

struct Held {
    event: Arc<Event>,
    acknowledges: bool,
}

/// A log as the journal finds it.
pub(super) struct LogEnd {
    /// Where it ends.
    pub(super) end: LogMark,
    /// What people call it.
    pub(super) location: String,
    /// Whether its writer keeps large fields apart.
    pub(super) keeps_payloads: bool,
}

/// What the writer task does next.
pub(super) enum Step {
    /// Nothing, until it is woken.
    Wait,
    /// Nothing, until it is woken or joined text is due.
    WaitUntil(Instant),
    /// Keep `payloads`, write the lines it was given, and fsync all of it when `sync`.
    Write { payloads: Vec<Payload>, end: LogMark, sync: bool },
    /// Give up: an event cannot be logged.
    Fail(io::Error),
    /// End.
    End,
}

impl Bus {
    /// The bus of a journal that goes on at the end of `log`, or has none.
    pub(super) fn new(options: JournalOptions, log: Option<LogEnd>) -> Self {
        let JournalOptions { session, ambient, last_seq, durability, filter } = options;
        let progress = Progress { written: last_seq, synced: last_seq, failure: None, ended: log.is_none() };
        let location = log.as_ref().map_or("", |log| &log.location).into();
        let began_empty = log.as_ref().is_some_and(|log| log.end.offset == 0);
        let queue = log.map(|LogEnd { end, keeps_payloads, .. }| {
            let queue = Queue::new(session.clone(), end, filter);
            if keeps_payloads { queue.with_payloads() } else { queue }
        });
        let state = State {
            seq: last_seq,
            turn: 0,
            subscribers: Vec::new(),
            held: VecDeque::new(),
            queue,
            failed: false,
            sync_up_to: 0,
            closing: false,
        };
        Self {
            session,
            ambient,
            durability,
            location,
            began_empty,
            began_at: last_seq,
            state: Mutex::new(state),
            wake: Notify::new(),
            progress: watch::Sender::new(progress),
        }
    }

    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) fn subscribe(&self) -> Subscription {
        let (sender, subscription) = Subscription::new();
        let mut state = self.lock();
        if !state.closing {
            state.subscribers.push(sender);
        }
        subscription
    }

    pub(super) fn set_turn(&self, turn: u32) {
        self.lock().turn = turn;
    }

    pub(super) fn mark(&self) -> LogMark {
        self.lock().queue.as_mut().map(Queue::settle).unwrap_or_default()
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        match &self.progress.borrow().failure {
            Some(failure) => Err(failure.clone().into()),
            None => Ok(()),
        }
    }

    pub(super) fn emit(&self, kind: EventKind, acknowledges: bool) {
        let mut state = self.lock();
        state.seq = state.seq.saturating_add(1);
        let event = Event {
            seq: state.seq,
            timestamp: self.ambient.now(),
            session_id: self.session.clone(),
            turn: state.turn,
            redacted: false,
            kind,
        };
        let stopped = state.failed || state.closing;
        let wake = match &mut state.queue {
            Some(queue) if !stopped => queue.push(&event),
            _ => false,
        };
        // With a log, only the log makes an acknowledgement true; without one there is nothing to wait for.
        state.stream(event, acknowledges);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Asks the writer task for everything emitted so far; `None` when there is nothing to wait for.
    pub(super) fn request(&self, durable: bool) -> Result<Option<u64>, Error> {
        self.check()?;
        let mut state = self.lock();
        if state.closing {
            return Err(closed());
        }
        let State { queue, failed, sync_up_to, .. } = &mut *state;
        let Some(queue) = queue else { return Ok(None) };
        let seq = queue.settle().seq;
        // What cannot be logged is never reached: whoever waits for it learns of the failure.
        let wanted = if *failed || queue.failure().is_some() { u64::MAX } else { seq };
        if durable {
            *sync_up_to = (*sync_up_to).max(seq);
        }
        drop(state);
        self.wake.notify_one();
        Ok(Some(wanted))
    }

    /// Waits until `seq` is written, or durable.
    pub(super) async fn reached(&self, seq: Option<u64>, durable: bool) -> Result<(), Error> {
        let Some(seq) = seq else { return Ok(()) };
        let mut progress = self.progress.subscribe();
        let done = |progress: &Progress| {
            progress.failure.is_none() && if durable { progress.synced } else { progress.written } >= seq
        };
        let progress = progress
            .wait_for(|progress| progress.failure.is_some() || progress.ended || done(progress))
            .await
            .map_err(|_| closed())?;
        match &progress.failure {
            Some(failure) => Err(failure.clone().into()),
            None if done(&progress) => Ok(()),
            None => Err(closed()),
        }
    }

    /// Waits until the writer task has ended.
    pub(super) async fn wait_for_end(&self) {
        let mut progress = self.progress.subscribe();
        // The sender is a part of this bus, so it cannot be gone.
        let _ = progress.wait_for(|progress| progress.ended).await;
    }

    pub(super) fn begin_closing(&self) {
        let mut state = self.lock();
        state.closing = true;
        match &mut state.queue {
            Some(queue) if self.durability != Durability::None => state.sync_up_to = queue.settle().seq,
            Some(_) => {}
            None => state.subscribers.clear(),
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Decides what the writer task does next, and moves waiting lines into the empty buffer `lines`.
    pub(super) fn next_step(&self, lines: &mut Vec<u8>) -> Step {
        let synced = self.progress.borrow().synced;
        let mut state = self.lock();
        let State { seq, queue, sync_up_to, closing, failed, .. } = &mut *state;
        let Some(queue) = queue else { return Step::End };
        if *failed {
            return if *closing { Step::End } else { Step::Wait };
        }
        let sync = *sync_up_to > synced;
        if *closing {
            queue.settle();
        } else if queue.due().is_some_and(|due| sync || due <= Instant::now()) {
            queue.settle_words(seq);
        }
        if sync || !queue.is_empty() {
            let payloads = queue.take_payloads();
            return Step::Write { payloads, end: queue.take(lines), sync };
        }
        if let Some(error) = queue.failure().take() {
            *failed = true;
            return Step::Fail(error);
        }
        match queue.due() {
            Some(due) => Step::WaitUntil(due),
            None if *closing => Step::End,
            None => Step::Wait,
        }
    }

    pub(super) fn written(&self, end: LogMark) {
        // Subscribers are served first, so that whoever waits finds the acknowledgement streamed.
        if self.durability == Durability::None {
            self.lock().release(end.seq);
        }
        self.progress.send_modify(|progress| progress.written = end.seq);
    }

    pub(super) fn synced(&self, end: LogMark) {
        if self.durability != Durability::None {
            self.lock().release(end.seq);
        }
        self.progress.send_modify(|progress| progress.synced = end.seq);
    }

    pub(super) fn failed(&self, error: io::Error) {
        let nothing_kept = self.began_empty && self.progress.borrow().written == self.began_at;
        let location = Arc::clone(&self.location);
        let failure = LogFailure { location, nothing_kept, source: Arc::new(error) };
        tracing::error!(error = %failure, "nothing more is logged");
        let mut state = self.lock();
        state.failed = true;
        if let Some(queue) = &mut state.queue {
            queue.discard();
        }
        state.held.retain(|held| !held.acknowledges);
        state.release(0);
        drop(state);
        self.progress.send_modify(|progress| {
            progress.failure.get_or_insert(failure);
        });
    }

    pub(super) fn ended(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.subscribers.clear();
        drop(state);
        self.progress.send_modify(|progress| progress.ended = true);
    }

    #[cfg(test)]
    pub(super) fn emit_unencodable(&self) {
        let mut state = self.lock();
        state.seq += 1;
        let seq = state.seq;
        let no_json = std::collections::BTreeMap::from([((), ())]);
        if let Some(queue) = &mut state.queue {
            queue.encode(seq, &no_json);
        }
    }

    #[cfg(test)]
    pub(super) fn subscribers(&self) -> usize {
        self.lock().subscribers.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stream(&mut self, event: Event, acknowledges: bool) {
        let waits = self.queue.is_some() && acknowledges;
        if waits && self.failed {
            return;
        }
        if waits || !self.held.is_empty() {
            self.held.push_back(Held { event: Arc::new(event), acknowledges: waits });
        } else if !self.subscribers.is_empty() {
            self.send(&Arc::new(event));
        }
    }

    /// Streams what was held back up to the first acknowledgement that is not durable yet.
    fn release(&mut self, durable_up_to: u64) {
        while let Some(held) =
            self.held.pop_front_if(|held| !held.acknowledges || held.event.seq <= durable_up_to)
        {
            self.send(&held.event);
        }
    }

    fn send(&mut self, event: &Arc<Event>) {
        self.subscribers.retain(|subscriber| subscriber.send(Arc::clone(event)).is_ok());
    }
}
