//! The session: one conversation with its log, its permissions and its one run at a time.

mod compact;
pub(crate) mod half_done;
mod hooks;
mod open;
mod options;
mod reminder;
mod rewind;
mod run;
mod shutdown;
mod sink;
mod snapshot;
mod structured;
mod turn_host;
mod web_tools;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use robota_core::{
    Agent, Ambient, ContextState, EntryData, EventKind, EventSink, History, HistoryEntry, HistoryMutation,
    HookOutcome, Message, MessageRef, NativeWebToolsReport, PermissionMode, SessionId, Timestamp,
    TurnAbortReason,
};
use serde_json::{Map, Value};

pub use options::{Prompt, SessionOptions};
pub use run::TurnOutcome;
pub use sink::Denial;

use self::sink::SessionSink;
use crate::conversation::lock;
use crate::lifecycle_hooks::LifecycleHooks;
use crate::permission::PermissionEnforcer;
use crate::{
    AutoCompactThreshold, Conversation, ConversationExport, Defects, Error, Journal, LineFilter,
    RecordedError, ReturnedInput, ReviewDecision, SessionStore, Subscription, TokenInfo, session_name,
};

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
    /// The state: history, turn, approvals, tokens, errors, open questions and waiting input.
    conversation: Arc<Conversation>,
    journal: Arc<Journal>,
    sink: Arc<SessionSink>,
    gate: PermissionEnforcer,
    hooks: Arc<LifecycleHooks>,
    store: Arc<dyn SessionStore>,
    facts: Facts,
    name: Mutex<Option<String>>,
    threshold: Mutex<Option<AutoCompactThreshold>>,
    /// What hooks have added for the next prompt.
    waiting_context: Mutex<Vec<String>>,
    /// What they said when the session was made or opened.
    said_at_start: OnceLock<HookOutcome>,
    /// The message whose note about the run is to be repeated: the commands that ran after it may have left the folder
    /// it names, where this run begins again.
    outdated_note: OnceLock<String>,
    /// The history was cleared, and hooks are yet to be told.
    cleared: AtomicBool,
    /// Input of a turn whose future was dropped.
    unsent: Mutex<Vec<String>>,
    completed_turns: AtomicUsize,
    /// Where in the log the last snapshot was taken; [`snapshot::NEVER`] to have one taken soon.
    snapshot_offset: AtomicU64,
    shutdown: tokio::sync::Mutex<shutdown::Stage>,
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
    compact_instructions: Option<String>,
    context_note: Option<String>,
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

    /// The id of the conversation, `conv_{uuid}` (seed `003`).
    #[must_use]
    pub fn conversation_id(&self) -> &str {
        self.conversation.conversation_id()
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

    /// What the provider said of its own web tools, and why one is not on.
    #[must_use]
    pub fn native_web_tools(&self) -> Option<&NativeWebToolsReport> {
        self.agent.config().tuning.native_web_tools.as_ref()
    }

    /// The rules approved with "allow for this session", in alphabetical order.
    #[must_use]
    pub fn session_allowed(&self) -> Vec<String> {
        self.conversation.approved_commands()
    }

    /// Takes all approvals for this session back.
    pub fn clear_session_allowed(&self) {
        self.conversation.clear_approved_commands();
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

    /// True while a turn runs, or a compaction.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.conversation.is_active_turn()
    }

    /// Aborts the turn that runs; what the model has said so far is kept. Without one, does nothing.
    pub fn abort(&self) {
        self.conversation.request_interrupt();
    }

    /// The same for another reason than the user's wish; the `interrupted` event tells it.
    pub fn abort_because(&self, reason: TurnAbortReason) {
        self.conversation.interrupt_because(reason);
    }

    /// Hands the model something more while a turn runs: it sees it with its next call. When the turn ends
    /// before that, [`TurnOutcome::unsent_input`] gives it back.
    ///
    /// # Errors
    ///
    /// The text itself, when no turn runs that could take it.
    pub fn inject_input(&self, text: impl Into<String>) -> Result<(), ReturnedInput> {
        self.conversation.inject_input(text)
    }

    /// Ids of the tool calls that wait for a decision, in alphabetical order.
    #[must_use]
    pub fn pending_approvals(&self) -> Vec<String> {
        self.conversation.pending_approvals()
    }

    /// Decides about a tool call that waits for it, in place of the permission handler; false when none with
    /// this id does.
    pub fn notify_approval(&self, tool_call_id: &str, decision: ReviewDecision) -> bool {
        self.conversation.notify_approval(tool_call_id, decision)
    }

    /// The tokens of all model calls since the session was opened; `None` before the first.
    #[must_use]
    pub fn token_info(&self) -> Option<TokenInfo> {
        self.conversation.token_info()
    }

    /// How often which tool was called since the session was opened.
    #[must_use]
    pub fn tool_usage(&self) -> BTreeMap<String, u64> {
        self.conversation.tool_usage()
    }

    /// The last errors of turns, oldest first.
    #[must_use]
    pub fn errors(&self) -> Vec<RecordedError> {
        self.conversation.errors()
    }

    /// The conversation as seed `003` exports it.
    #[must_use]
    pub fn export_conversation(&self) -> ConversationExport {
        self.conversation.export()
    }

    /// From which share of the window on the session compacts its history by itself; `None` for never.
    #[must_use]
    pub fn auto_compact_threshold(&self) -> Option<AutoCompactThreshold> {
        *lock(&self.threshold)
    }

    /// Changes from which share of the window on the session compacts its history by itself; counts from
    /// the next model call on.
    pub fn set_auto_compact_threshold(&self, threshold: Option<AutoCompactThreshold>) {
        *lock(&self.threshold) = threshold;
    }

    /// Empties the history; the log keeps what was. SessionStart hooks are told before the next prompt.
    ///
    /// # Errors
    ///
    /// [`Busy`](crate::ErrorKind::Busy) while a turn runs, [`Closed`](crate::ErrorKind::Closed) after
    /// the shutdown.
    pub fn clear_history(&self) -> Result<(), Error> {
        self.change("the history cannot be cleared", |history| history.clear())?;
        self.cleared.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Adds an entry to the timeline. An event entry, which the model does not see, may be added at
    /// any time; a chat entry becomes a message of the model's view and needs an idle session.
    ///
    /// # Errors
    ///
    /// As [`clear_history`](Session::clear_history).
    pub fn add_history_entry(&self, entry: HistoryEntry) -> Result<(), Error> {
        if matches!(entry.data, EntryData::Event(_)) {
            return self.conversation.change_history(|history| history.append_entry(entry));
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
        self.conversation.check_not_closed()?;
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
        // While this runs no turn can begin.
        self.conversation.while_idle(what, || {
            self.journal.check()?;
            self.mutate_if(f);
            Ok(())
        })?
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
        lock(self.conversation.history_lock())
    }

    /// A message of the user.
    fn user_message(&self, text: String) -> Message {
        let ambient = self.ambient();
        Message::user(ambient.next_id(), ambient.now(), text)
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
