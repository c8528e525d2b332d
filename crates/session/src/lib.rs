//! Sessions of the robota agent runtime: run, record, resume.
//!
//! A [`Session`] is a conversation with a model. It runs one turn at a time, asks before tools do
//! what rules do not settle, tells hooks what happens and lets them object, and writes everything that happens to an append-only log, which is the
//! truth about it: a session is resumed by folding its log. A turn is acknowledged only after its
//! records are durable.
//!
//! Sessions are kept in a [`SessionStore`]: [`FileStore`] for files beside a project,
//! [`MemoryStore`] for memory, [`NullStore`] for none. Snapshots and listings of a store are caches of the logs.
//!
//! A [`Conversation`] is the state of a session without the model: history, turns, approvals, tokens,
//! and their export.
//! A [`Compactor`] replaces what was said long ago by a summary, when the context window fills up.
//!
//! The [`Journal`] is the one sink of all events; [`LogReader`] and [`LogFold`] read what it wrote,
//! in whatever state a crash has left it.

pub mod archive;
mod compaction;
mod conversation;
mod error;
mod files;
mod lifecycle_hooks;
mod log;
mod observer;
mod output_schema;
mod outputs;
mod permission;
mod printable;
mod replay;
mod restate;
mod session;
mod session_name;
mod store;
mod terminal;

pub use compaction::{
    AutoCompactThreshold, CompactionError, CompactionHooks, CompactionOutcome, CompactionRequest, Compactor,
    InvalidThreshold, Shortfall,
};
pub use conversation::{
    ApprovalReceiver, Approvals, Conversation, ConversationEntry, ConversationExport, ConversationHistory,
    ConversationMetadata, ConversationOptions, CurrentTurn, ExecutionState, ExportMetadata, FinishedTurn,
    ImportError, InitializeMode, RateLimits, RecordedError, ReturnReason, ReturnedInput, ReviewDecision,
    Speaker, StateExport, TokenInfo,
};
pub use error::{Error, ErrorKind, LockOwner};
pub use log::{
    Defect, DefectKind, Defects, Durability, Journal, JournalOptions, LineFilter, LogFold, LogItem, LogMark,
    LogReader, LogSource, LogWriter, OpenLog, Payload, PayloadError, PayloadErrorKind, PayloadReference,
    PayloadSource, Subscription, Tail, redacting_filter,
};
pub use observer::{CompactEvent, SessionObserver, ToolExecution};
pub use output_schema::{InvalidSchema, OutputSchema};
pub use permission::{ExternalApproval, PermissionAnswer, PermissionHandler, PermissionRequest, RuleKeeper};
pub use replay::{
    CompactionReplay, Divergence, Expand, ReplayIssue, ReplayIssueCode, ReplayReport, ReplayValidation,
    ReplayValidator, ReplayedTurn, SessionReplayRecord, TurnReplay, expand, recorded_answers, replay,
    replay_session_log_entries, validate_session_replay_log_entries, validate_session_replay_log_items,
};
pub use session::{Denial, InjectedRole, Prompt, Session, SessionOptions, TurnOutcome};
#[cfg(feature = "conformance")]
pub use store::conformance;
pub use store::{
    Deleted, DeletedFile, FileStore, GrowingLog, Listing, MemoryStore, NullStore, RecordLog, SessionHead,
    SessionRecord, SessionStore, SkippedFile, Snapshot, StoredSession,
};
pub use terminal::{Spinner, TerminalApproval, TerminalOutput};
