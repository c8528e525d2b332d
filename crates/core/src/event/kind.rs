//! The kinds of events, by the names of seed `000`, Session Logging.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    CompactTrigger, ContextState, PayloadKind, PermissionResolution, RequestPurpose, TurnAbortReason, TurnEnd,
};
use crate::{
    FinishReason, HistoryMutation, HistoryRef, HookOutcome, HookPermission, NativeWebToolsReport,
    PermissionMode, RawCapture, RequestDigest, RequestTuning, ResponseFormat, SessionId, ToolSpec, Usage,
};

/// What happened. Names as in seed `000`, Session Logging.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// The session was made. The only place where the system prompt and the tool schemas stand in full.
    SessionInit {
        /// Working directory; what is not UTF-8 in it is lost in the log.
        #[serde(serialize_with = "crate::path_text::serialize")]
        cwd: PathBuf,
        /// Name given by the user.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        name: Option<String>,
        /// Provider id.
        provider: String,
        /// Model id.
        model: String,
        /// Permission mode at the start.
        permission_mode: PermissionMode,
        /// The system prompt.
        system_prompt: Arc<str>,
        /// Its length in bytes.
        system_prompt_length: usize,
        /// Specs of the tools, in the order the model sees them.
        #[serde(default)]
        tool_schemas: Arc<[Arc<ToolSpec>]>,
        /// The session this one was forked from.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        forked_from: Option<SessionId>,
        /// Most output tokens of one model call, where the session sets a limit.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        max_output_tokens: Option<u32>,
        /// Which native payloads are recorded.
        #[serde(skip_serializing_if = "RawCapture::is_off", default)]
        raw_capture: RawCapture,
        /// What all its requests have in common besides.
        #[serde(skip_serializing_if = "RequestTuning::is_plain", default)]
        tuning: RequestTuning,
    },
    /// The session was opened again, possibly with another prompt, model or set of tools.
    SessionResume {
        /// Provider id from now on.
        provider: String,
        /// Model id from now on.
        model: String,
        /// The history that was restored.
        history: HistoryRef,
        /// The system prompt, when it differs from the last one logged.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        system_prompt: Option<Arc<str>>,
        /// The tools, when they differ from the last ones logged.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tool_schemas: Option<Arc<[Arc<ToolSpec>]>>,
        /// Pieces of the log that could not be used: lines that are damaged, doubled, foreign or out of
        /// place, each gap between messages, and an end that is missing.
        #[serde(default)]
        skipped_lines: usize,
        /// Most output tokens of one model call from now on, where the session sets a limit.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        max_output_tokens: Option<u32>,
        /// Which native payloads are recorded from now on.
        #[serde(skip_serializing_if = "RawCapture::is_off", default)]
        raw_capture: RawCapture,
        /// What all its requests have in common besides, from now on.
        #[serde(skip_serializing_if = "RequestTuning::is_plain", default)]
        tuning: RequestTuning,
    },
    /// The user gave the session another name, or took its name away.
    SessionName {
        /// The name from now on.
        name: Option<String>,
    },
    /// A prompt was accepted.
    User {
        /// The prompt as submitted; what hooks and the session add to it stands in the message.
        content: String,
        /// True for input that arrived while the turn was running.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        steering: bool,
    },
    /// A turn is about to call the model.
    PreRun {
        /// Provider id.
        provider: String,
        /// Model id.
        model: String,
        /// The history before the model call, the prompt included.
        history: HistoryRef,
        /// Most rounds of this turn; 0 for no limit.
        max_rounds: u32,
        /// The provider's own web tools; `None` where it was not asked for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native_web_tools: Option<NativeWebToolsReport>,
        /// The form that the answers of this turn have to have, where it is another one than that of the session.
        /// The request for last words asks for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_format: Option<ResponseFormat>,
    },
    /// How full the context window is.
    Context(ContextState),
    /// A model call is about to be made.
    ProviderRequest {
        /// Number of the round in this turn, from 1.
        round: u32,
        /// Provider id.
        provider: String,
        /// Model id.
        model: String,
        /// The history that is sent.
        history: HistoryRef,
        /// The call asks for a closing answer without tools.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        last_words: bool,
        /// What the call is for.
        #[serde(default, skip_serializing_if = "RequestPurpose::is_turn")]
        purpose: RequestPurpose,
        /// Stands for every byte that is sent; `None` in logs of before it was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<RequestDigest>,
    },
    /// What provider and program said to each other, in the provider's own words. Recorded only where
    /// the session asks for it.
    ProviderNativeRawPayload {
        /// Number of the round.
        round: u32,
        /// Provider id.
        provider: String,
        /// What the payload is.
        payload_kind: PayloadKind,
        /// Number of the payload in its call, from 0.
        sequence: u32,
        /// The request, the answer, or a list of stream events.
        payload: Value,
    },
    /// A model call failed and is tried again.
    ProviderRetry {
        /// Number of the coming attempt.
        attempt: u32,
        /// Most attempts.
        max_attempts: u32,
        /// Pause before it, in milliseconds.
        delay_ms: u64,
        /// What went wrong.
        reason: String,
        /// HTTP status of the failure.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        status: Option<u16>,
        /// What was streamed of the answer since its request is void: it begins anew.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        abandoned: bool,
    },
    /// A model call goes to another model, because the one that was asked for did not answer. What it had streamed
    /// is void.
    ProviderFallback {
        /// The provider that is asked now.
        provider: String,
        /// The model that is asked now.
        model: String,
        /// What went wrong before.
        reason: String,
        /// What was streamed of the answer since its request is void: it begins anew.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        abandoned: bool,
    },
    /// A provider ran a tool of its own.
    ServerTool {
        /// Name of the tool.
        tool: String,
        /// What it was asked.
        query: String,
    },
    /// More visible text.
    TextDelta {
        /// The text.
        delta: String,
    },
    /// More thinking.
    ThinkingDelta {
        /// The text.
        delta: String,
    },
    /// A model's answer is complete.
    ProviderResponseNormalized {
        /// Number of the round.
        round: u32,
        /// The message it became.
        message_id: String,
        /// The server's id of the answer.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        response_id: Option<String>,
        /// The model that answered.
        model: String,
        /// Why it ended.
        finish_reason: FinishReason,
        /// Tokens of this call.
        usage: Usage,
        /// Calls it asks for.
        tool_calls_count: usize,
        /// Ids of calls that were not unique, as the message has them, with those the provider gave. With
        /// them this event also stands for the answer as it came, `provider_response_raw`.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        renamed_calls: Map<String, Value>,
    },
    /// The answer to the prompt is part of the history.
    Assistant {
        /// The last message of the model in this turn.
        message_id: String,
        /// The history after the turn.
        history: HistoryRef,
    },
    /// The history changed. Replay is the fold of these.
    HistoryMutation(HistoryMutation),
    /// A batch of tool calls begins.
    ToolBatchStarted {
        /// Number of the round.
        round: u32,
        /// How many calls may run at once.
        max_concurrency: usize,
        /// Names of the tools, in call order.
        tools: Vec<String>,
    },
    /// A call was looked at: it is about to run, or is answered without running. In the log before its
    /// effect.
    ToolExecutionRequest {
        /// Place in the batch, from 0.
        index: usize,
        /// Name of the tool.
        tool_name: String,
        /// Id of the call.
        tool_call_id: String,
        /// The arguments of the call as it runs, JSON, or a string when malformed: those of the model, or
        /// those that a hook has put in their place.
        parameters: Value,
    },
    /// Output that appeared while a tool ran.
    ToolProgress {
        /// Id of the call.
        tool_call_id: String,
        /// The output.
        text: String,
    },
    /// A person is asked whether a call may run.
    PermissionRequest {
        /// Name of the tool.
        tool_name: String,
        /// Id of the call.
        tool_call_id: String,
        /// The arguments.
        parameters: Value,
        /// Why there is a question.
        reason: String,
        /// The rules that an approval for the session would add.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allow_rules: Vec<String>,
    },
    /// The question about a call is settled.
    PermissionResolved {
        /// Id of the call.
        tool_call_id: String,
        /// How.
        resolution: PermissionResolution,
        /// What a person should know of it: where its rules are kept now, or why they are not.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        note: Option<String>,
    },
    /// A call was not allowed to run.
    PermissionDenied {
        /// Name of the tool.
        tool_name: String,
        /// Id of the call.
        tool_call_id: String,
        /// The arguments.
        parameters: Value,
        /// Why, for a person.
        reason: String,
        /// The rules that would allow it, all together.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allow_rules: Vec<String>,
    },
    /// A call has ended.
    ToolExecutionResult {
        /// Place in the batch.
        index: usize,
        /// Name of the tool.
        tool_name: String,
        /// Id of the call.
        tool_call_id: String,
        /// Whether it succeeded.
        success: bool,
        /// Stable reason of a failure.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error_code: Option<String>,
        /// Facts for programs; the text stands in the tool message.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        result: Option<Value>,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
    },
    /// The answer of the turn is valid against the schema that was asked for.
    StructuredOutput {
        /// The answer.
        value: Value,
        /// The provider itself was asked to keep to the schema; otherwise the model was told it with the prompt.
        #[serde(default)]
        native: bool,
        /// How often the model was sent back to mend its answer.
        #[serde(default)]
        repairs: u32,
    },
    /// A tool's answer is part of the history.
    ToolMessageCommitted {
        /// Id of the call.
        tool_call_id: String,
        /// Id of the message.
        message_id: String,
    },
    /// A hook had something to say. Hooks without effect are not recorded.
    Hook {
        /// Name of the hook event, such as `UserPromptSubmit`.
        hook_event_name: String,
        /// What it stopped, and why.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        blocked: Option<String>,
        /// Why it ended the turn.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        stopped: Option<String>,
        /// What it said about the permission of a call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        permission: Option<HookPermission>,
        /// The arguments it gave a call.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        updated_input: Option<Value>,
        /// Hooks that did not do their work: one sentence each, for a person.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        failures: Vec<String>,
        /// Text it added for the model.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        additional_context: Vec<String>,
        /// Text for the person.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        system_messages: Vec<String>,
    },
    /// A compaction is about to make its first model call. With the history, the prompt, the tools and the
    /// output limit, it stands for everything that shapes its calls.
    CompactStart {
        /// What asked for it.
        trigger: CompactTrigger,
        /// The share of the window to come under; `None` where smaller is enough.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        goal: Option<f64>,
        /// What the summary should pay attention to, with what hooks have added.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        instructions: String,
        /// Bytes of the message that is about to be added.
        #[serde(skip_serializing_if = "is_zero", default)]
        coming_bytes: u64,
        /// Size of the window, in tokens; 0 when unknown.
        context_window: u64,
    },
    /// One model call of a compaction is done.
    CompactSummary {
        /// Number of the part that was summarised, from 1.
        part: u32,
        /// The summary so far.
        summary: String,
        /// Tokens of the call.
        usage: Usage,
    },
    /// The history was compacted.
    ContextCompact {
        /// What asked for it.
        trigger: CompactTrigger,
        /// How full the window was.
        before: ContextState,
        /// How full it is.
        after: ContextState,
        /// Messages that the summary stands for.
        summarized_messages: usize,
        /// Messages that stayed as they were.
        kept_messages: usize,
        /// Model calls made.
        parts: u32,
        /// Tokens of all of them.
        usage: Usage,
    },
    /// The turn was aborted; what had been streamed is kept.
    Interrupted {
        /// Why.
        #[serde(default)]
        reason: TurnAbortReason,
        /// The history at the end of the turn.
        history: HistoryRef,
    },
    /// The turn failed.
    Error {
        /// Stable code (facts sheet 2.9).
        code: String,
        /// What happened.
        message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        hint: Option<String>,
        /// HTTP status of the model API's answer.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        status: Option<u16>,
    },
    /// The turn is over and everything before this line is on disk: the acknowledgement.
    Complete {
        /// How it ended.
        ended: TurnEnd,
        /// Model calls made.
        rounds: u32,
        /// Tokens of all calls.
        usage: Usage,
        /// The history at the end of the turn.
        history: HistoryRef,
        /// How long the turn took, in milliseconds.
        duration_ms: u64,
        /// How much of it was spent waiting for the model, in milliseconds.
        api_duration_ms: u64,
    },
    /// The session was closed.
    SessionShutdown {
        /// Why: `prompt_input_exit`, `other` and so on (facts sheet 2.7).
        reason: String,
    },
    /// A step of the shutdown failed; the next ones were made all the same.
    SessionShutdownStepError {
        /// The step.
        step: String,
        /// What went wrong.
        error: String,
    },
    /// A kind this version does not know, with all its fields.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl EventKind {
    /// What hooks said about the event `hook_event_name`.
    #[must_use]
    pub fn of_hooks(hook_event_name: &str, outcome: &HookOutcome) -> Self {
        Self::Hook {
            hook_event_name: hook_event_name.to_owned(),
            blocked: outcome.block.clone(),
            stopped: outcome.stop.clone(),
            permission: outcome.permission.clone(),
            updated_input: outcome.updated_input.clone(),
            failures: outcome.failures.clone(),
            additional_context: outcome.additional_context.clone(),
            system_messages: outcome.system_messages.clone(),
        }
    }

    /// True for events that are only worth seeing as they happen; the log may join or drop them.
    #[must_use]
    pub const fn is_ephemeral(&self) -> bool {
        matches!(self, Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::ToolProgress { .. })
    }
}
