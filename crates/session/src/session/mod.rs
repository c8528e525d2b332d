//! The session: one conversation with its log, its permissions and its one run at a time.

mod half_done;
mod open;
mod options;
mod rewind;
mod run;
mod shutdown;
mod sink;
mod snapshot;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::{
    Agent, Ambient, ContextState, EntryData, EventKind, EventSink, History, HistoryEntry, HistoryMutation,
    Message, MessageRef, PermissionMode, SessionId, Timestamp,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use options::{Prompt, SessionOptions};
pub use run::TurnOutcome;
pub use sink::Denial;

use self::sink::SessionSink;
use crate::permission::PermissionEnforcer;
use crate::{Defects, Error, Journal, LineFilter, SessionStore, Subscription, session_name};

/// A conversation with a model: `Session` of seed `000`.
///
/// All methods take `&self`, so a session can be shared between tasks; [`run`](Session::run) runs one
/// turn at a time. Everything that happens goes to the log of the session and to its subscribers.
/// A session needs a tokio runtime with time enabled, and costs one small task while it is open.
///
/// Dropping a session ends it like a process that dies: a turn that runs is aborted, what was
/// emitted is still written, the lock is given back. [`shutdown`](Session::shutdown) also says
/// goodbye in the log, takes a snapshot, and waits for the disk.
pub struct Session {
    id: SessionId,
    agent: Agent,
    history: Mutex<History>,
    journal: Arc<Journal>,
    sink: Arc<SessionSink>,
    gate: PermissionEnforcer,
    store: Arc<dyn SessionStore>,
    facts: Facts,
    name: Mutex<Option<String>>,
    activity: watch::Sender<Activity>,
    turn: AtomicU32,
    completed_turns: AtomicUsize,
    /// Where in the log the last snapshot was taken; [`snapshot::NEVER`] to have one taken soon.
    snapshot_offset: AtomicU64,
    shutdown: tokio::sync::Mutex<bool>,
    defects: Defects,
}

/// What never changes about a session.
struct Facts {
    cwd: PathBuf,
    created_at: Timestamp,
    forked_from: Option<SessionId>,
    tool_schemas: Arc<[Value]>,
    extra: Map<String, Value>,
    persistent: bool,
    line_filter: Option<LineFilter>,
}

/// Whether a turn runs, and whether another may begin.
#[derive(Default)]
struct Activity {
    run: Option<CancellationToken>,
    closed: bool,
}

/// Who speaks in a message that is put into the history by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InjectedRole {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The host.
    System,
}

impl Session {
    /// The id: stable for the life of the session, also over resumes.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.id
    }

    /// The folder the session was made in.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.facts.cwd
    }

    /// The name given by the user.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        lock(&self.name).clone()
    }

    /// Gives the session another name, or none. A blank name is none; characters that a terminal would
    /// act on become U+FFFD.
    ///
    /// # Errors
    ///
    /// [`InvalidName`](crate::ErrorKind::InvalidName) when it is longer than 200 characters.
    pub fn set_name(&self, name: Option<&str>) -> Result<(), Error> {
        let name = session_name::kept(name)?;
        let mut current = lock(&self.name);
        if *current == name {
            return Ok(());
        }
        self.journal.emit(EventKind::SessionName { name: name.clone() });
        *current = name;
        self.snapshot_offset.store(snapshot::NEVER, Ordering::Relaxed);
        Ok(())
    }

    /// The permission mode in force.
    #[must_use]
    pub fn permission_mode(&self) -> PermissionMode {
        self.gate.mode()
    }

    /// Changes the permission mode for the tool calls to come.
    pub fn set_permission_mode(&self, mode: PermissionMode) {
        self.gate.set_mode(mode);
    }

    /// The rules approved with "allow for this session", in alphabetical order.
    #[must_use]
    pub fn session_allowed(&self) -> Vec<String> {
        self.gate.approved()
    }

    /// Takes all approvals for this session back.
    pub fn clear_session_allowed(&self) {
        self.gate.clear_approved();
    }

    /// How many turns this value has completed, however they ended; turns before a resume not counted.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.completed_turns.load(Ordering::Relaxed)
    }

    /// The messages as the model sees them, oldest first, without the system prompt.
    #[must_use]
    pub fn history(&self) -> Vec<MessageRef> {
        self.lock_history().messages().to_vec()
    }

    /// The timeline as a person sees it: messages and the events between them.
    #[must_use]
    pub fn full_history(&self) -> Vec<HistoryEntry> {
        self.lock_history().entries().to_vec()
    }

    /// How full the context window is: the provider's last count, or an estimate where that is larger
    /// or missing.
    #[must_use]
    pub fn context_state(&self) -> ContextState {
        self.agent.context_state(&self.lock_history())
    }

    /// What could not be read of the session's files when it was resumed.
    #[must_use]
    pub fn defects(&self) -> &Defects {
        &self.defects
    }

    /// All events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.journal.subscribe()
    }

    /// True while a turn runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.activity.borrow().run.is_some()
    }

    /// Aborts the turn that runs; what the model has said so far is kept. Without one, does nothing.
    pub fn abort(&self) {
        if let Some(cancel) = &self.activity.borrow().run {
            cancel.cancel();
        }
    }

    /// Empties the history; the log keeps what was.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) while a turn runs, [`Closed`](crate::ErrorKind::Closed) after
    /// the shutdown.
    pub fn clear_history(&self) -> Result<(), Error> {
        self.change("the history cannot be cleared", |history| history.clear())
    }

    /// Adds an entry to the timeline. An event entry, which the model does not see, may be added at
    /// any time; a chat entry becomes a message of the model's view and needs an idle session.
    ///
    /// # Errors
    ///
    /// As [`clear_history`](Session::clear_history).
    pub fn add_history_entry(&self, entry: HistoryEntry) -> Result<(), Error> {
        if matches!(entry.data, EntryData::Event(_)) {
            if self.activity.borrow().closed {
                return Err(Error::closed());
            }
            self.mutate(|history| history.append_entry(entry));
            return Ok(());
        }
        self.change("a message cannot be added", |history| history.append_entry(entry))
    }

    /// Adds a message without calling the model.
    ///
    /// # Errors
    ///
    /// As [`clear_history`](Session::clear_history).
    pub fn inject_message(&self, role: InjectedRole, content: impl Into<String>) -> Result<(), Error> {
        let ambient = self.ambient();
        let (id, now) = (ambient.next_id(), ambient.now());
        let message = match role {
            InjectedRole::User => Message::user(id, now, content),
            InjectedRole::Assistant => Message::assistant(id, now, content),
            InjectedRole::System => Message::system(id, now, content),
        };
        self.change("a message cannot be added", |history| history.append(message))
    }

    /// Waits until everything that has happened so far survives the death of the machine.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage), [`Closed`](crate::ErrorKind::Closed).
    pub async fn flush(&self) -> Result<(), Error> {
        if self.activity.borrow().closed {
            return Err(Error::closed());
        }
        Ok(self.journal.flush().await?)
    }

    /// Changes the history of an idle session.
    fn change(&self, what: &str, f: impl FnOnce(&mut History) -> HistoryMutation) -> Result<(), Error> {
        self.change_if(what, |history| Some(f(history)))
    }

    /// The same, where there may be nothing to change.
    fn change_if(
        &self,
        what: &str,
        f: impl FnOnce(&mut History) -> Option<HistoryMutation>,
    ) -> Result<(), Error> {
        // Under this lock no turn can begin.
        let mut outcome = Ok(());
        self.activity.send_if_modified(|activity| {
            outcome = match activity {
                Activity { closed: true, .. } => Err(Error::closed()),
                Activity { run: Some(_), .. } => Err(Error::busy(what)),
                _ => {
                    self.mutate_if(f);
                    Ok(())
                }
            };
            false
        });
        outcome
    }

    fn mutate(&self, f: impl FnOnce(&mut History) -> HistoryMutation) {
        self.mutate_if(|history| Some(f(history)));
    }

    fn mutate_if(&self, f: impl FnOnce(&mut History) -> Option<HistoryMutation>) {
        let mut history = self.lock_history();
        if let Some(mutation) = f(&mut history) {
            // Under the lock, so that the log has the mutations in the order of the history.
            self.sink.emit(EventKind::HistoryMutation(mutation));
        }
    }

    /// Answers tool calls that were cut off.
    fn answer_half_done(&self, cause: &str) {
        let started = std::mem::take(&mut self.sink.seen().started);
        let mut history = self.lock_history();
        for mutation in half_done::answer(&mut history, &started, cause, self.ambient()) {
            self.sink.emit(EventKind::HistoryMutation(mutation));
        }
    }

    fn lock_history(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }

    fn ambient(&self) -> &Ambient {
        &self.agent.config().ambient
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.abort();
        self.journal.begin_closing();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Locks `mutex`. What it guards is changed in single steps, so a panic elsewhere leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
