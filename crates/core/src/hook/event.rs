//! The events that hooks are for.

use std::fmt;
use std::str::FromStr;

/// An event of a session's life that hooks may listen to (facts sheet 2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HookEvent {
    /// Before a tool runs.
    PreToolUse,
    /// After a tool has done its work.
    PostToolUse,
    /// After a tool has failed.
    PostToolUseFailure,
    /// Before a person is asked about a call.
    PermissionRequest,
    /// Before a prompt goes to the model.
    UserPromptSubmit,
    /// When a session begins or is opened again.
    SessionStart,
    /// When a session is closed.
    SessionEnd,
    /// When the model has finished its answer.
    Stop,
    /// When a turn has failed.
    StopFailure,
    /// When a subagent begins.
    SubagentStart,
    /// When a subagent has finished.
    SubagentStop,
    /// Before a compaction.
    PreCompact,
    /// After a compaction.
    PostCompact,
    /// After a work tree was made.
    WorktreeCreate,
    /// When a work tree is removed.
    WorktreeRemove,
    /// When something wants the person's attention.
    Notification,
}

/// A name that is no hook event's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a hook event")]
pub struct UnknownHookEvent {
    /// The name.
    name: String,
}

impl HookEvent {
    /// Every event.
    pub const ALL: [Self; 16] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PermissionRequest,
        Self::UserPromptSubmit,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Stop,
        Self::StopFailure,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::PostCompact,
        Self::WorktreeCreate,
        Self::WorktreeRemove,
        Self::Notification,
    ];

    /// The name, as settings and scripts write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PermissionRequest => "PermissionRequest",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::WorktreeCreate => "WorktreeCreate",
            Self::WorktreeRemove => "WorktreeRemove",
            Self::Notification => "Notification",
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HookEvent {
    type Err = UnknownHookEvent;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|event| event.name() == name);
        known.ok_or_else(|| UnknownHookEvent { name: name.to_owned() })
    }
}
