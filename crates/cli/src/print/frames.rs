//! Session events as the frames that programs for the stream-json format read.
//!
//! The shapes are those of the Claude Agent SDK's protocol (`system/init`, `assistant`, `user`,
//! `result` and the optional `system` frames), so that its clients read robota unchanged.

use std::collections::HashMap;
use std::path::Path;

use robota_core::{
    Ambient, Body, Event, EventKind, HistoryMutation, Message, ModelInfo, SessionId, ToolCall, TurnEnd, Usage,
};
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// Clients of the protocol compare this version; older ones are warned about.
const PROTOCOL_VERSION: &str = "2.1.330";

/// What the first frame of a turn says of its session.
pub(crate) struct SessionFacts<'a> {
    pub(crate) session_id: &'a SessionId,
    pub(crate) cwd: &'a Path,
    pub(crate) model: &'a str,
    pub(crate) tools: Vec<String>,
    pub(crate) permission_mode: &'a str,
    pub(crate) api_key_source: &'a str,
}

/// Turns the events of one turn into frames.
pub(crate) struct Frames {
    ambient: Ambient,
    session_id: SessionId,
    model: String,
    model_info: ModelInfo,
    tool_results: HashMap<String, Value>,
    denials: Vec<Value>,
    text: String,
    stop_reason: Value,
    error: Option<(String, Option<u16>)>,
    in_tools: bool,
}

impl Frames {
    pub(crate) fn new(facts: &SessionFacts<'_>, model_info: ModelInfo, ambient: Ambient) -> Self {
        Self {
            ambient,
            session_id: facts.session_id.clone(),
            model: facts.model.to_owned(),
            model_info,
            tool_results: HashMap::new(),
            denials: Vec::new(),
            text: String::new(),
            stop_reason: Value::Null,
            error: None,
            in_tools: false,
        }
    }

    pub(crate) fn session_id(&self) -> &str {
        self.session_id.as_str()
    }

    pub(crate) fn ambient(&self) -> &Ambient {
        &self.ambient
    }

    /// The first frame of a turn.
    pub(crate) fn init(&self, facts: &SessionFacts<'_>) -> Value {
        self.frame(json!({
            "type": "system",
            "subtype": "init",
            "cwd": facts.cwd.to_string_lossy(),
            "tools": facts.tools,
            "mcp_servers": [],
            "model": facts.model,
            "permissionMode": facts.permission_mode,
            "apiKeySource": facts.api_key_source,
            "slash_commands": [],
            "output_style": "default",
            "skills": [],
            "plugins": [],
            "agents": [],
            "claude_code_version": PROTOCOL_VERSION,
            "robota_version": env!("CARGO_PKG_VERSION"),
        }))
    }

    /// The frames of one event, in order; the last event of a turn gives its result.
    pub(crate) fn of(&mut self, event: &Event) -> Vec<Value> {
        match &event.kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                self.message(message)
            }
            EventKind::ProviderResponseNormalized { finish_reason, tool_calls_count, .. } => {
                self.stop_reason = json!(finish_reason);
                self.in_tools = *tool_calls_count > 0;
                Vec::new()
            }
            EventKind::ProviderRequest { .. } => {
                self.in_tools = false;
                Vec::new()
            }
            EventKind::ToolExecutionResult { tool_call_id, result: Some(result), .. } => {
                self.tool_results.insert(tool_call_id.clone(), result.clone());
                Vec::new()
            }
            EventKind::ProviderRetry { attempt, max_attempts, delay_ms, reason, status } => {
                vec![self.frame(json!({
                    "type": "system", "subtype": "api_retry", "attempt": attempt.saturating_sub(1),
                    "max_retries": max_attempts.saturating_sub(1),
                    "retry_delay_ms": delay_ms, "error_status": status, "error": reason,
                }))]
            }
            EventKind::PermissionDenied { tool_name, tool_call_id, parameters, reason, .. } => {
                self.denials.push(json!({
                    "tool_name": tool_name, "tool_use_id": tool_call_id, "tool_input": parameters,
                }));
                vec![self.frame(json!({
                    "type": "system", "subtype": "permission_denied", "tool_name": tool_name,
                    "tool_use_id": tool_call_id, "message": reason,
                }))]
            }
            EventKind::Error { message, status, .. } => {
                self.error = Some((message.clone(), *status));
                Vec::new()
            }
            EventKind::Complete { ended, rounds, usage, duration_ms, api_duration_ms, .. } => {
                vec![self.result(*ended, *rounds, *usage, *duration_ms, *api_duration_ms)]
            }
            _ => Vec::new(),
        }
    }

    /// The frames of a message: one for each block of an answer, one for a tool's result.
    fn message(&mut self, message: &Message) -> Vec<Value> {
        match &message.body {
            Body::Assistant { content, tool_calls, reasoning, .. } => {
                if let Some(text) = content {
                    self.text.clone_from(text);
                }
                let thinking = reasoning.iter().filter(|block| !block.text.is_empty()).map(|block| {
                    json!({"type": "thinking", "thinking": block.text, "signature": block.signature.as_deref().unwrap_or_default()})
                });
                let text = content.iter().map(|text| json!({"type": "text", "text": text}));
                let calls = tool_calls.iter().map(tool_use);
                let usage = message.usage().unwrap_or_default();
                let blocks = thinking.chain(text).chain(calls);
                blocks.map(|block| self.assistant(&message.id, &block, usage)).collect()
            }
            Body::Tool { content, tool_call_id, is_error, .. } => {
                let mut block =
                    json!({"type": "tool_result", "tool_use_id": tool_call_id, "content": content});
                if *is_error {
                    insert(&mut block, "is_error", Value::Bool(true));
                }
                let mut frame = self.frame(json!({
                    "type": "user", "parent_tool_use_id": null,
                    "message": {"role": "user", "content": [block]},
                }));
                if let Some(result) = self.tool_results.remove(tool_call_id) {
                    insert(&mut frame, "tool_use_result", result);
                }
                vec![frame]
            }
            Body::User { .. } | Body::System { .. } => Vec::new(),
        }
    }

    fn assistant(&self, message_id: &str, block: &Value, usage: Usage) -> Value {
        self.frame(json!({
            "type": "assistant",
            "parent_tool_use_id": null,
            "message": {
                "id": message_id, "type": "message", "role": "assistant", "model": self.model,
                "content": [block], "stop_reason": null, "usage": anthropic_usage(usage),
            },
        }))
    }

    fn result(
        &self,
        ended: TurnEnd,
        rounds: u32,
        usage: Usage,
        duration_ms: u64,
        api_duration_ms: u64,
    ) -> Value {
        let cost = self.model_info.cost(&usage).unwrap_or(0.0);
        let mut frame = self.frame(json!({
            "type": "result",
            "subtype": "success",
            "is_error": false,
            "duration_ms": duration_ms,
            "duration_api_ms": api_duration_ms,
            "num_turns": rounds,
            "stop_reason": self.stop_reason,
            "total_cost_usd": cost,
            "usage": anthropic_usage(usage),
            "modelUsage": self.model_usage(usage, cost),
            "permission_denials": self.denials,
        }));
        for (key, value) in self.verdict(ended) {
            insert(&mut frame, key, value);
        }
        frame
    }

    /// The fields that say how the turn ended.
    fn verdict(&self, ended: TurnEnd) -> Vec<(&'static str, Value)> {
        let stopped = |subtype: &str, reason: &str, error: &str| {
            vec![
                ("subtype", json!(subtype)),
                ("is_error", json!(true)),
                ("terminal_reason", json!(reason)),
                ("errors", json!([error])),
            ]
        };
        match ended {
            TurnEnd::MaxRounds => stopped(
                "error_max_turns",
                "max_turns",
                "the turn used all the rounds that --max-turns allows",
            ),
            TurnEnd::Interrupted => {
                let reason = if self.in_tools { "aborted_tools" } else { "aborted_streaming" };
                stopped("error_during_execution", reason, "the turn was interrupted")
            }
            TurnEnd::ContextFull => {
                let error = "the context window is nearly full; start a new session";
                stopped("error_during_execution", "prompt_too_long", error)
            }
            TurnEnd::Failed => {
                let (message, status) = self.error.clone().unwrap_or_default();
                vec![
                    ("is_error", json!(true)),
                    ("result", json!(format!("API Error: {message}"))),
                    ("api_error_status", json!(status)),
                    ("terminal_reason", json!("api_error")),
                ]
            }
            _ => vec![("result", json!(self.text)), ("terminal_reason", json!("completed"))],
        }
    }

    fn model_usage(&self, usage: Usage, cost: f64) -> Value {
        let mut models = Map::new();
        let facts = json!({
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadInputTokens": usage.cache_read_tokens,
            "cacheCreationInputTokens": usage.cache_write_tokens,
            "webSearchRequests": 0,
            "costUSD": cost,
            "contextWindow": self.model_info.context_window,
            "maxOutputTokens": self.model_info.max_output_tokens,
        });
        models.insert(self.model.clone(), facts);
        Value::Object(models)
    }

    /// The frame with what every frame carries.
    fn frame(&self, mut frame: Value) -> Value {
        insert(&mut frame, "session_id", json!(self.session_id));
        insert(&mut frame, "uuid", json!(self.ambient.next_id()));
        frame
    }
}

/// The result of a run without a turn that could be told of: it never began, or could not be recorded.
pub(crate) fn startup_failure(failure: &Failure, session_id: &str, ambient: &Ambient) -> Value {
    let errors: Vec<&str> =
        std::iter::once(failure.message.as_str()).chain(failure.hint.as_deref()).collect();
    json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "duration_ms": 0,
        "duration_api_ms": 0, "num_turns": 0, "session_id": session_id, "uuid": ambient.next_id(),
        "errors": errors, "terminal_reason": "startup_error", "total_cost_usd": 0.0,
        "usage": anthropic_usage(Usage::default()), "permission_denials": [],
    })
}

fn tool_use(call: &ToolCall) -> Value {
    let input = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn anthropic_usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    })
}

fn insert(frame: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = frame {
        fields.insert(key.to_owned(), value);
    }
}
