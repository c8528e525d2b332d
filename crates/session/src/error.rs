//! The error of this crate.

use std::error::Error as StdError;
use std::fmt;

use robota_core::{SessionId, Timestamp};

use crate::printable::printable;
use crate::{SessionHead, TurnOutcome};

/// What kind of failure a call into this crate met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A turn is running; the call needs an idle session.
    Busy,
    /// The session has been shut down.
    Closed,
    /// Another program, or another part of this one, has the session open.
    Locked,
    /// There is no such session.
    NotFound,
    /// A session with this id exists already.
    Exists,
    /// Several sessions fit.
    Ambiguous,
    /// The text is no session id.
    InvalidId,
    /// The text is no name for a session.
    InvalidName,
    /// The history was not compacted: there is nothing to compact, a hook or an abort stopped it, or the
    /// model wrote no summary.
    Compaction,
    /// What was given to be kept is empty, or has no valid time.
    InvalidInput,
    /// What is to be imported is not the artifact of a session.
    InvalidArtifact,
    /// The session has no such turn to go back to.
    InvalidTurn,
    /// The log, a snapshot or a folder could not be read or written.
    Storage,
    /// A file was written by a newer version, and is left as it is.
    NewerVersion,
    /// The turn failed in the engine: provider, tool or configuration.
    Engine(robota_core::ErrorKind),
}

impl ErrorKind {
    /// The stable code of the failure, as in `error` events (facts sheet 2.9).
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Busy => "SESSION_BUSY",
            Self::Closed => "SESSION_CLOSED",
            Self::Locked => "SESSION_LOCKED",
            Self::NotFound => "SESSION_NOT_FOUND",
            Self::Exists => "SESSION_EXISTS",
            Self::Ambiguous => "SESSION_AMBIGUOUS",
            Self::Compaction => "COMPACTION_ERROR",
            Self::InvalidId
            | Self::InvalidName
            | Self::InvalidInput
            | Self::InvalidArtifact
            | Self::InvalidTurn => "VALIDATION_ERROR",
            Self::Storage => "STORAGE_ERROR",
            Self::NewerVersion => "SESSION_NEWER_VERSION",
            Self::Engine(kind) => kind.code(),
        }
    }
}

/// Who has a session open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockOwner {
    /// Process id; `None` when the lock file does not tell.
    pub pid: Option<u32>,
    /// Since when; `None` when the lock file does not tell.
    pub since: Option<Timestamp>,
}

/// Why a call into this crate failed, in words for a person and facts for a program.
pub struct Error(Box<Details>);

struct Details {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    owner: Option<LockOwner>,
    candidates: Vec<SessionHead>,
    turn: Option<TurnOutcome>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            message: message.into(),
            hint: None,
            source: None,
            owner: None,
            candidates: Vec::new(),
            turn: None,
        }))
    }

    /// A failure to reach what a store keeps; `message` says what was tried and where.
    ///
    /// For implementers of [`SessionStore`](crate::SessionStore).
    #[must_use]
    pub fn storage(message: impl fmt::Display, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        Self::new(ErrorKind::Storage, format!("{message}: {source}")).with_source(source)
    }

    /// What is at `place` says in its field `field` that it has the format `version`, and this program knows
    /// only those up to `known`.
    #[must_use]
    pub fn newer_version(place: impl fmt::Display, field: &str, version: u32, known: u32) -> Self {
        let told = format!("field `{field}` is {version}, and this version knows formats up to {known}");
        let message = format!("{place} was written by a newer version of robota: {told}");
        Self::new(ErrorKind::NewerVersion, message).with_hint("update robota; the session stays as it is")
    }

    /// There is no session `id`.
    #[must_use]
    pub fn not_found(id: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotFound, format!("there is no session `{id}`"))
            .with_hint("list the sessions of this project to see their ids and names")
    }

    /// A session `id` exists already.
    #[must_use]
    pub fn exists(id: &SessionId) -> Self {
        Self::new(ErrorKind::Exists, format!("a session `{id}` exists already"))
            .with_hint("resume it, or choose another id")
    }

    /// Session `id` is open elsewhere.
    #[must_use]
    pub fn locked(id: &SessionId, owner: LockOwner) -> Self {
        let process = owner.pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        let since = owner.since.map(|since| format!(" (since {since})")).unwrap_or_default();
        let mut error = Self::new(ErrorKind::Locked, format!("session {id} is open in {process}{since}"))
            .with_hint("fork it (--fork-session) or close the other program");
        error.0.owner = Some(owner);
        error
    }

    pub(crate) fn busy(what: &str) -> Self {
        Self::new(ErrorKind::Busy, format!("{what}: a turn of this session is running"))
            .with_hint("wait for the turn to end, or abort it")
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the session has been shut down").with_hint("resume it to go on")
    }

    pub(crate) fn ambiguous(query: &str, candidates: Vec<SessionHead>) -> Self {
        let listed: Vec<String> = candidates.iter().take(5).map(describe).collect();
        let more = candidates.len().saturating_sub(listed.len());
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let query = printable(query);
        let message = format!("`{query}` fits {} sessions: {}{rest}", candidates.len(), listed.join(", "));
        let mut error = Self::new(ErrorKind::Ambiguous, message).with_hint("give the full id");
        error.0.candidates = candidates;
        error
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn with_turn(mut self, turn: TurnOutcome) -> Self {
        self.0.turn = Some(turn);
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code of the failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Who has the session open, for [`ErrorKind::Locked`].
    #[must_use]
    pub fn lock_owner(&self) -> Option<&LockOwner> {
        self.0.owner.as_ref()
    }

    /// The sessions that fit, for [`ErrorKind::Ambiguous`].
    #[must_use]
    pub fn candidates(&self) -> &[SessionHead] {
        &self.0.candidates
    }

    /// What the failed turn came to, when one had begun: text so far, rounds, tokens, denials.
    #[must_use]
    pub fn turn(&self) -> Option<&TurnOutcome> {
        self.0.turn.as_ref()
    }

    /// The engine's error behind this one.
    #[must_use]
    pub fn engine(&self) -> Option<&robota_core::Error> {
        self.0.source.as_deref().and_then(|source| source.downcast_ref())
    }
}

fn describe(head: &SessionHead) -> String {
    match &head.name {
        Some(name) => format!("{} ({})", head.id, printable(name)),
        None => head.id.to_string(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<robota_core::Error> for Error {
    fn from(error: robota_core::Error) -> Self {
        let kind = match error.kind() {
            robota_core::ErrorKind::Storage => ErrorKind::Storage,
            kind => ErrorKind::Engine(kind),
        };
        let mut wrapped = Self::new(kind, error.to_string());
        wrapped.0.hint = error.hint().map(str::to_owned);
        wrapped.with_source(error)
    }
}

impl From<robota_core::InvalidSessionId> for Error {
    fn from(error: robota_core::InvalidSessionId) -> Self {
        Self::new(ErrorKind::InvalidId, error.to_string()).with_source(error)
    }
}
