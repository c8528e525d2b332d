//! What hooks are told.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::HookEvent;
use crate::{CompactTrigger, PermissionMode, SessionId};

/// What hooks are told. As JSON, the one flat object that command hooks read from standard input, in the
/// names of facts sheet 2.7.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookInput {
    /// The session.
    pub session_id: SessionId,
    /// Its log; `None` when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// Its working directory.
    #[serde(serialize_with = "crate::path_text::serialize")]
    pub cwd: PathBuf,
    /// The permission mode in force.
    pub permission_mode: PermissionMode,
    /// What happens.
    #[serde(flatten)]
    pub call: HookCall,
}

impl HookInput {
    /// What hooks of the session `session_id` in `cwd` are told when `call` happens.
    #[must_use]
    pub fn new(
        session_id: SessionId,
        cwd: impl Into<PathBuf>,
        permission_mode: PermissionMode,
        call: HookCall,
    ) -> Self {
        Self { session_id, transcript_path: None, cwd: cwd.into(), permission_mode, call }
    }
}

/// What happens, and what there is to know about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "hook_event_name")]
#[non_exhaustive]
pub enum HookCall {
    /// A session is made or opened again. Text that hooks add goes with the next prompt.
    SessionStart {
        /// How it came to be.
        source: SessionSource,
    },
    /// A prompt was given. Hooks may stop it, or add text to it.
    UserPromptSubmit {
        /// The prompt.
        prompt: String,
    },
    /// The model has finished its answer. A hook that blocks sends it on, with the reason as the next
    /// prompt.
    Stop {
        /// The beginning of the answer: 500 characters at most.
        response: String,
        /// The answer.
        last_assistant_message: String,
        /// True when the model is at work only because a hook sent it on.
        stop_hook_active: bool,
    },
    /// The turn failed.
    StopFailure {
        /// Why.
        reason: String,
    },
    /// The history is about to be compacted. Hooks may stop it.
    PreCompact {
        /// What asked for it.
        trigger: CompactTrigger,
        /// What the summary should pay attention to; empty for nothing in particular.
        custom_instructions: String,
    },
    /// The history was compacted.
    PostCompact {
        /// What asked for it.
        trigger: CompactTrigger,
        /// The summary.
        compact_summary: String,
    },
    /// A tool is about to be called. Hooks may change its arguments, and decide whether it runs.
    PreToolUse {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// Id of the call.
        tool_use_id: String,
    },
    /// A tool has done its work. Hooks may add text for the model.
    PostToolUse {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// What it gave back: the text the model sees, or facts for programs where it has some.
        tool_response: Value,
        /// The text the model sees, in the name of facts sheet 2.7.
        tool_output: String,
        /// Id of the call.
        tool_use_id: String,
    },
    /// A tool has failed. Hooks may add text for the model.
    PostToolUseFailure {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// Id of the call.
        tool_use_id: String,
        /// What went wrong, as the model sees it.
        error: String,
        /// True when the user interrupted it.
        is_interrupt: bool,
    },
    /// A person is about to be asked whether a call may run. Hooks may answer in their place.
    PermissionRequest {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        tool_input: Value,
        /// Id of the call.
        tool_use_id: String,
        /// Why there is a question.
        reason: String,
        /// The rules that would allow the call.
        permission_suggestions: Vec<String>,
    },
    /// Something wants the person's attention.
    Notification {
        /// What.
        message: String,
        /// Which kind of thing: `permission_prompt`, `idle_prompt`.
        notification_type: String,
    },
    /// A subagent begins.
    SubagentStart {
        /// Its id.
        agent_id: String,
        /// Its type.
        agent_type: String,
    },
    /// A subagent has finished. A hook that blocks sends it on.
    SubagentStop {
        /// Its id.
        agent_id: String,
        /// Its type.
        agent_type: String,
        /// Its log; `None` when it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_transcript_path: Option<String>,
        /// Its answer.
        last_assistant_message: String,
        /// True when it is at work only because a hook sent it on.
        stop_hook_active: bool,
    },
    /// A work tree for a subagent was made.
    WorktreeCreate {
        /// Its name.
        name: String,
        /// Where it is.
        worktree_path: String,
    },
    /// A work tree is removed.
    WorktreeRemove {
        /// Where it was.
        worktree_path: String,
    },
    /// The session was closed.
    SessionEnd {
        /// Why: `clear`, `resume`, `logout`, `prompt_input_exit`, `bypass_permissions_disabled` or `other`.
        reason: String,
    },
}

impl HookCall {
    /// The name of the event, as settings and scripts write it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.event().name()
    }

    /// The event.
    #[must_use]
    pub const fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::Stop { .. } => HookEvent::Stop,
            Self::StopFailure { .. } => HookEvent::StopFailure,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::PostCompact { .. } => HookEvent::PostCompact,
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Self::Notification { .. } => HookEvent::Notification,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::WorktreeCreate { .. } => HookEvent::WorktreeCreate,
            Self::WorktreeRemove { .. } => HookEvent::WorktreeRemove,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
        }
    }
}

impl HookCall {
    /// What matchers of the event's hooks look at: the tool, the type or the id of an agent, the trigger of a
    /// compaction, the source of a session, the reason of its end, the kind of a notification. Without any,
    /// matchers do not count.
    #[must_use]
    pub fn subjects(&self) -> [Option<&str>; 2] {
        let subject = match self {
            Self::PreToolUse { tool_name, .. }
            | Self::PostToolUse { tool_name, .. }
            | Self::PostToolUseFailure { tool_name, .. }
            | Self::PermissionRequest { tool_name, .. } => tool_name,
            Self::SubagentStart { agent_id, agent_type }
            | Self::SubagentStop { agent_id, agent_type, .. } => {
                return [Some(agent_type), Some(agent_id)];
            }
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => match trigger {
                CompactTrigger::Auto => "auto",
                CompactTrigger::Manual => "manual",
            },
            Self::SessionStart { source } => source.name(),
            Self::SessionEnd { reason } => reason,
            Self::Notification { notification_type, .. } => notification_type,
            Self::UserPromptSubmit { .. }
            | Self::Stop { .. }
            | Self::StopFailure { .. }
            | Self::WorktreeCreate { .. }
            | Self::WorktreeRemove { .. } => return [None, None],
        };
        [Some(subject), None]
    }
}

/// How a session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SessionSource {
    /// It is new.
    Startup,
    /// It was opened again, or is a copy of another.
    Resume,
    /// Its history was emptied.
    Clear,
    /// Its history was compacted.
    Compact,
}

impl SessionSource {
    /// The name that scripts read.
    const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_is_what_command_hooks_read() {
        let call = HookCall::PreCompact { trigger: CompactTrigger::Auto, custom_instructions: String::new() };
        let name = call.name();
        let mut input = HookInput::new("s1".parse().unwrap(), "/p", PermissionMode::Default, call);
        input.transcript_path = Some("/p/.robota/logs/s1.jsonl".into());
        let expected = json!({
            "session_id": "s1", "transcript_path": "/p/.robota/logs/s1.jsonl", "cwd": "/p",
            "permission_mode": "default", "hook_event_name": "PreCompact", "trigger": "auto",
            "custom_instructions": "",
        });
        assert_eq!(serde_json::to_value(&input).unwrap(), expected);
        assert_eq!(name, "PreCompact");
    }
}
