//! The state of a session: the contract of seed `003`.
//!
//! A [`Conversation`] knows what was said, which turn runs, what was approved and what it cost. It calls
//! no model. Every change of its history goes to its log in the same step.

mod active_turn;
mod approvals;
mod entry;
mod execution_state;
mod export;
mod history;
mod identity;
mod import;
mod import_field;
mod incidents;
mod lifecycle;
mod options;
mod pending_input;
mod recorder;
mod review;
mod tokens;
mod trim;
mod turn;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::{EventKind, EventSink, History, SessionId, Timestamp, Usage};
use tokio::sync::Notify;

pub use active_turn::{CurrentTurn, FinishedTurn};
pub use approvals::Approvals;
pub use entry::{ConversationEntry, Speaker};
pub use execution_state::ExecutionState;
pub use export::{ConversationExport, ExportMetadata, StateExport};
pub use history::ConversationHistory;
pub use import_field::ImportError;
pub use incidents::RecordedError;
pub use lifecycle::InitializeMode;
pub use options::ConversationOptions;
pub use pending_input::{ReturnReason, ReturnedInput};
pub use review::{ApprovalReceiver, ReviewDecision};
pub use tokens::{RateLimits, TokenInfo};

use self::active_turn::Turns;
use self::history::LastSnapshot;
use self::incidents::Incidents;
use self::recorder::Recorder;
use self::tokens::Ledger;
use crate::{Defects, Error, Journal};

/// The state of a session: history, turns, approvals, tokens, errors (seed `003`).
///
/// It can be shared: all methods but those that give it another log take `&self`, and none holds a lock
/// over an await. Until [`initialize`](Conversation::initialize) or
/// [`initialize_session`](Conversation::initialize_session) it lives in memory alone; from then on every
/// change of the history is in the log of its store.
pub struct Conversation {
    options: ConversationOptions,
    session_id: SessionId,
    conversation_id: String,
    created: Timestamp,
    /// When something was last done with it, in milliseconds since the Unix epoch.
    accessed: AtomicI64,
    recorder: Option<Recorder>,
    /// Set under the lock of the turns, before that of the history is passed through once: whoever holds one
    /// of the two and finds it unset comes before the end.
    closed: AtomicBool,
    /// True once the log has been closed.
    ended: tokio::sync::Mutex<bool>,
    /// Taken after `turns`, before `snapshot`.
    history: Mutex<History>,
    snapshot: LastSnapshot,
    turns: Mutex<Turns>,
    turn_ended: Notify,
    approvals: Arc<Approvals>,
    ledger: Mutex<Ledger>,
    incidents: Mutex<Incidents>,
    defects: Defects,
}

/// What a conversation is at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationMetadata {
    /// `conv_{uuid}`.
    pub conversation_id: String,
    /// How many messages there are.
    pub message_count: usize,
    /// When it was made.
    pub start_time: Timestamp,
    /// The model it is held with.
    pub current_model: Arc<str>,
}

/// A conversation whose log is open already.
pub(crate) struct Attached {
    pub(crate) session_id: SessionId,
    /// The log.
    pub(crate) journal: Arc<Journal>,
    /// Where the conversation emits: the journal, or what stands in front of it.
    pub(crate) sink: Arc<dyn EventSink>,
    /// What the log has told so far.
    pub(crate) history: History,
    /// Number of the last turn; 0 before the first.
    pub(crate) last_turn: u32,
    /// Tokens of the model calls in the log.
    pub(crate) usage: Usage,
    pub(crate) created: Timestamp,
    /// What could not be read of the log.
    pub(crate) defects: Defects,
}

impl Conversation {
    /// An empty conversation in memory.
    ///
    /// # Errors
    ///
    /// [`InvalidId`](crate::ErrorKind::InvalidId) when `options.ambient` makes no valid ids.
    pub fn new(options: ConversationOptions) -> Result<Self, Error> {
        let id = match &options.session_id {
            Some(id) => id.clone(),
            None => options.ambient.next_id().parse()?,
        };
        Ok(Self::assemble(options, id, None, History::default()))
    }

    /// A conversation whose log is open already.
    pub(crate) fn attached(options: ConversationOptions, state: Attached) -> Self {
        let Attached { session_id, journal, sink, history, last_turn, usage, created, defects } = state;
        let recorder = Recorder::new(journal, sink);
        let mut conversation = Self::assemble(options, session_id, Some(recorder), history);
        conversation.turns = Mutex::new(Turns::after(last_turn));
        conversation.ledger = Mutex::new(Ledger::after(&usage));
        conversation.created = created;
        conversation.defects = defects;
        conversation
    }

    fn assemble(
        options: ConversationOptions,
        session_id: SessionId,
        recorder: Option<Recorder>,
        history: History,
    ) -> Self {
        let now = options.ambient.now();
        Self {
            conversation_id: identity::conversation_id(&session_id),
            session_id,
            created: now,
            accessed: AtomicI64::new(now.as_millis()),
            recorder,
            closed: AtomicBool::new(false),
            ended: tokio::sync::Mutex::default(),
            history: Mutex::new(history),
            snapshot: LastSnapshot::default(),
            turns: Mutex::default(),
            turn_ended: Notify::new(),
            approvals: Arc::default(),
            ledger: Mutex::default(),
            incidents: Mutex::default(),
            defects: Defects::default(),
            options,
        }
    }

    /// The id of the conversation, `conv_{uuid}`: `getSessionId` of the contract.
    ///
    /// Over the same UUID as [`session_id`](Conversation::session_id). For a session id that is no UUID in
    /// the usual spelling it is one of version 8, made from the SHA-256 of that id.
    #[must_use]
    pub fn conversation_id(&self) -> &str {
        &self.conversation_id
    }

    /// The id of its log in the store.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The folder it was made in.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.options.cwd
    }

    /// What it is at a glance.
    #[must_use]
    pub fn metadata(&self) -> ConversationMetadata {
        ConversationMetadata {
            conversation_id: self.conversation_id.clone(),
            message_count: self.message_count(),
            start_time: self.created,
            current_model: Arc::clone(&self.options.model),
        }
    }

    /// What could not be read of its log when it was resumed.
    #[must_use]
    pub fn defects(&self) -> &Defects {
        &self.defects
    }

    /// Notes that something was done, and returns when.
    fn touch(&self) -> Timestamp {
        let now = self.options.ambient.now();
        self.accessed.store(now.as_millis(), Ordering::Relaxed);
        now
    }

    pub(crate) fn check_not_closed(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
    }

    /// Whether changes are still taken, and kept.
    fn check_open(&self) -> Result<(), Error> {
        self.check_not_closed()?;
        Ok(self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.journal().check())?)
    }

    fn emit(&self, kind: EventKind) {
        if let Some(recorder) = &self.recorder {
            recorder.emit(kind);
        }
    }

    fn set_turn_of_events(&self, turn: u32) {
        if let Some(recorder) = &self.recorder {
            recorder.journal().set_turn(turn);
        }
    }

    async fn written(&self) -> Result<(), Error> {
        match &self.recorder {
            Some(recorder) => Ok(recorder.written().await?),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("id", &self.conversation_id)
            .field("session_id", &self.session_id)
            .field("messages", &self.message_count())
            .finish_non_exhaustive()
    }
}

/// Locks `mutex`. What it guards is changed in single steps, so a panic elsewhere leaves it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
