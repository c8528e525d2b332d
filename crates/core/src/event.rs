//! The one vocabulary of what happens in a session: what is logged is what is streamed is what is replayed.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{
    Error, FinishReason, HistoryMutation, HistoryRef, PermissionMode, SessionId, Timestamp, ToolSpec, Usage,
};

/// Something that happened in a session.
///
/// As JSON, one flat object: the envelope, then `event` with the name of the kind and the fields of
/// the kind beside it (facts sheet 4.2), all in camelCase.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Number of the event in its session, from 1. A log line that joins several deltas has the number
    /// of the last; events that are not logged leave gaps.
    pub seq: u64,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// Number of the turn, from 1; 0 outside of turns.
    pub turn: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

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
    },
    /// The user gave the session another name, or took its name away.
    SessionName {
        /// The name from now on.
        name: Option<String>,
    },
    /// A prompt was accepted.
    User {
        /// The prompt as submitted.
        content: String,
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
    /// A call is about to run. In the log before its effect.
    ToolExecutionRequest {
        /// Place in the batch, from 0.
        index: usize,
        /// Name of the tool.
        tool_name: String,
        /// Id of the call.
        tool_call_id: String,
        /// The arguments as the model wrote them: JSON, or a string when malformed.
        parameters: Value,
    },
    /// Output that appeared while a tool ran.
    ToolProgress {
        /// Id of the call.
        tool_call_id: String,
        /// The output.
        text: String,
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
        /// The rule that would allow it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        allow_rule: Option<String>,
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
    /// A tool's answer is part of the history.
    ToolMessageCommitted {
        /// Id of the call.
        tool_call_id: String,
        /// Id of the message.
        message_id: String,
    },
    /// The turn was aborted; what had been streamed is kept.
    Interrupted {
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
    /// A kind this version does not know, with all its fields.
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model finished.
    Completed,
    /// The turn was aborted.
    Interrupted,
    /// The rounds ran out.
    MaxRounds,
    /// The context window is nearly full.
    ContextFull,
    /// The model declined, or a filter ended the answer.
    Refused,
    /// The model's answer reached the output limit.
    OutputLimit,
    /// The turn failed; the error precedes.
    Failed,
}

/// How full the context window is (seed `000`, `getContextState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextState {
    /// Tokens in use, as far as known.
    pub used_tokens: u64,
    /// Size of the window.
    pub max_tokens: u64,
    /// Share in use, from 0 to 100 and beyond.
    pub used_percentage: f64,
}

impl EventKind {
    /// True for events that are only worth seeing as they happen; the log may join or drop them.
    #[must_use]
    pub const fn is_ephemeral(&self) -> bool {
        matches!(self, Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::ToolProgress { .. })
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Envelope {
            seq: u64,
            timestamp: Timestamp,
            session_id: SessionId,
            #[serde(default)]
            turn: u32,
        }
        let line = <&RawValue>::deserialize(deserializer)?.get();
        let envelope: Envelope = serde_json::from_str(line).map_err(de::Error::custom)?;
        let mut kind: EventKind = serde_json::from_str(line).map_err(de::Error::custom)?;
        if let EventKind::Unknown(fields) = &mut kind {
            for key in ["seq", "timestamp", "sessionId", "turn"] {
                fields.shift_remove(key);
            }
        }
        let Envelope { seq, timestamp, session_id, turn } = envelope;
        Ok(Self { seq, timestamp, session_id, turn, kind })
    }
}

/// Where everything that happens in a turn goes.
///
/// The session's implementation stamps each kind, and hands it to the log and to all subscribers.
pub trait EventSink: Send + Sync {
    /// Takes an event. Never blocks.
    fn emit(&self, kind: EventKind);

    /// Waits until everything emitted so far has been handed to the operating system, so that it
    /// survives the death of this process.
    ///
    /// # Errors
    ///
    /// When the log cannot be written; the turn must not go on.
    fn written(&self) -> BoxFuture<'_, Result<(), Error>>;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Message;

    fn read(line: &str) -> Event {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn an_event_is_one_flat_object_and_reads_back() {
        let message = Message::user("m1", Timestamp::from_millis(0), "hi");
        let event = Event {
            seq: 7,
            timestamp: Timestamp::from_millis(0),
            session_id: "s1".parse().unwrap(),
            turn: 2,
            kind: EventKind::HistoryMutation(HistoryMutation::AppendMessage {
                index: 0,
                message: message.into(),
            }),
        };
        let line = serde_json::to_string(&event).unwrap();
        let expected = r#"{"seq":7,"timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s1","turn":2,"event":"history_mutation","mutation":"append_message","index":0,"message":{"id":"m1","timestamp":"1970-01-01T00:00:00.000Z","state":"complete","role":"user","content":"hi"}}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::to_string(&read(&line)).unwrap(), expected);
    }

    #[test]
    fn an_event_of_a_later_version_is_kept_whole() {
        let line = r#"{"seq":1,"timestamp":"1970-01-01T00:00:00.000Z","sessionId":"s1","turn":0,"event":"moon_phase","phase":"full"}"#;
        let event = read(line);
        let EventKind::Unknown(fields) = &event.kind else { panic!("{event:?}") };
        assert_eq!(json!(fields), json!({"event": "moon_phase", "phase": "full"}));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[cfg(unix)]
    #[test]
    fn a_working_directory_that_is_not_utf8_is_written_as_far_as_text_can() {
        use std::os::unix::ffi::OsStrExt;
        let kind = EventKind::SessionInit {
            cwd: std::ffi::OsStr::from_bytes(b"/p/caf\xe9").into(),
            name: None,
            provider: "p".into(),
            model: "m".into(),
            permission_mode: PermissionMode::Default,
            system_prompt: "".into(),
            system_prompt_length: 0,
            tool_schemas: [].into(),
            forked_from: None,
        };
        assert_eq!(serde_json::to_value(kind).unwrap()["cwd"], "/p/caf\u{fffd}");
    }

    #[test]
    fn a_line_without_its_envelope_is_an_error() {
        let error = serde_json::from_str::<Event>(r#"{"event":"user","content":"x"}"#).unwrap_err();
        assert!(error.to_string().contains("missing field `seq`"), "{error}");
    }
}
