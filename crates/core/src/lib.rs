//! Vocabulary, ports and engine of the robota agent runtime.
//!
//! A session is a conversation with a language model that may call tools. This crate knows what
//! such a conversation is made of ([`Message`], [`History`], [`Event`]), what it needs from outside
//! ([`Provider`], [`Tool`], [`EventSink`], [`ToolGate`], [`HookRunner`], [`Clock`]), and how a turn runs
//! ([`Agent`]). [`PermissionPolicy`] decides about calls, [`HookEngine`] runs the hooks around them. It reads
//! the contents of no file (to judge a command it resolves the paths in it), opens no connection and prints
//! nothing: everything that belongs to a host arrives as a value or through a port.

mod agent;
mod ambient;
mod calibration;
mod context;
mod error;
mod event;
mod harmless_text;
mod history;
mod history_head;
mod hook;
mod message;
mod message_size;
mod model;
pub mod path_text;
mod permission;
mod provider;
mod redact;
mod reminder;
mod session_id;
mod text_weight;
mod timestamp;
mod tool;
mod usage;

pub use agent::{
    After, Agent, AgentConfig, Authorization, Before, EndedCall, GateRequest, NoHost, Pressure, RawPayloads,
    RequestTuning, ToolGate, Turn, TurnHost, TurnReport, last_words_message, sendable,
};
pub use ambient::{Ambient, Clock, IdSource, SystemClock, UuidIds};
pub use calibration::Calibration;
pub use error::{Error, ErrorKind};
pub use event::{
    CompactTrigger, ContextState, Event, EventKind, EventSink, PayloadKind, PermissionResolution,
    RequestPurpose, TurnAbortReason, TurnEnd,
};
pub use harmless_text::{HarmlessText, harmless_text, is_binary};
pub use history::{EntryCategory, EntryData, History, HistoryEntry, HistoryMutation, MutationMismatch};
pub use history_head::{HistoryHead, HistoryRef};
pub use hook::{
    HookAction, HookCall, HookDecision, HookEngine, HookEngineOptions, HookEvent, HookExecutor,
    HookExecutors, HookFailure, HookFailurePolicy, HookGroup, HookInput, HookMatcher, HookOrigin,
    HookOutcome, HookPermission, HookReply, HookRunner, HookScope, HookSpec, HookTask, HookWarning,
    HooksConfig, InvalidHooks, SessionSource, UnknownHookEvent,
};
pub use message::{Body, Message, MessageRef, MessageState, Part, Reasoning, ToolCall};
pub use message_size::json_size;
pub use model::{InvalidModelTable, Modality, ModelEntry, ModelInfo, ModelPrices, ModelSource, ModelTable};
pub use permission::protected_name;
pub use permission::{
    Basis, CommandConfinement, CommandPart, CommandReport, Decision, InvalidMode, InvalidRule, PartState,
    PermissionMode, PermissionPolicy, ReadingDenials, Rule, RuleSet, Verdict,
};
pub use provider::{
    Capabilities, Citation, Effort, FinishReason, ModelEvent, ModelRequest, ModelStream, NativeWebTool,
    NativeWebTools, NativeWebToolsReport, Provider, ProviderCategory, ProviderDefinition, ProviderError,
    ProviderErrorKind, ProviderInfo, RawCapture, RecordedAnswer, RecordedFailure, RequestDigest,
    ResponseFormat, Thinking, ToolChoice, UnknownEffort,
};
pub use redact::Redactor;
pub use reminder::system_reminder;
pub use session_id::{InvalidSessionId, SessionId};
pub use text_weight::text_bytes;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use tool::{
    Access, DynTool, FatalToolError, InvalidArguments, MalformedArguments, OutputSpill, PathAccess,
    PreparedCall, Spellings, SpillFile, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec,
    erase, read_arguments,
};
pub use usage::Usage;
