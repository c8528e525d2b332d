/// Why the log could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session log {location} cannot be written: {source}")]
struct LogFailure {
    location: Arc<str>,
    source: Arc<io::Error>,
}

impl From<LogFailure> for robota_core::Error {
    fn from(failure: LogFailure) -> Self {
        let hint = match failure.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, then resume the session; everything acknowledged so far is on disk"
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                "make the folder writable, then resume the session; or run without persistence"
            }
            _ => "resume the session once the cause is gone; everything acknowledged so far is on disk",
        };
        Self::new(robota_core::ErrorKind::Storage, failure.to_string()).with_hint(hint).with_source(failure)
    }
}

/// How far the writer task has come.
struct Progress {
    written: u64,
    synced: u64,
    failure: Option<LogFailure>,
    ended: bool,
}

pub(super) struct Shared {
    session: SessionId,
    ambient: Ambient,
    durability: Durability,
    location: Arc<str>,
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

/// What the writer task does next.
pub(super) enum Step {
    /// Nothing, until it is woken.
    Wait,
    /// Nothing, until it is woken or joined text is due.
    WaitUntil(Instant),
    /// Write the lines it was given, and fsync them when `sync`.
    Write { end: LogMark, sync: bool },
    /// End.
    End,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn emit(&self, kind: EventKind, acknowledges: bool) {
        let mut state = self.lock();
        state.seq += 1;
        let event = Event {
            seq: state.seq,
            timestamp: self.ambient.now(),
            session_id: self.session.clone(),
            turn: state.turn,
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

    /// Waits until `seq` is written, or durable.
    async fn reached(&self, seq: Option<u64>, durable: bool) -> Result<(), robota_core::Error> {
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

    fn begin_closing(&self) {
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
        let State { queue, sync_up_to, closing, failed, .. } = &mut *state;
        let Some(queue) = queue else { return Step::End };
        if *failed {
            return if *closing { Step::End } else { Step::Wait };
        }
        let sync = *sync_up_to > synced;
        if queue.due().is_some_and(|due| sync || *closing || due <= Instant::now()) {
            queue.settle();
        }
        if sync || !queue.is_empty() {
            return Step::Write { end: queue.take(lines), sync };
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
        let failure = LogFailure { location: Arc::clone(&self.location), source: Arc::new(error) };
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

fn closed() -> robota_core::Error {
    robota_core::Error::new(robota_core::ErrorKind::Storage, "the session log is closed")
        .with_hint("resume the session to go on")
}

