//! Session events as the frames that programs for the stream-json format read.
//!
//! The shapes are those of the Claude Agent SDK's protocol (`system/init`, `assistant`, `user`,
//! `result` and the optional `system` frames), so that its clients read robota unchanged.

use std::collections::HashMap;
use std::path::Path;

use robota_core::{
    Ambient, Body, EventKind, HistoryMutation, Message, NativeWebToolsReport, RequestPurpose, SessionId,
    ToolCall, TurnEnd, Usage,
};
use serde_json::{Value, json};

use super::ending::Ending;
use super::parts::content_of;
use super::remarks::{deeds, remarks};
use super::spending::Spending;
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
    pub(crate) native_web_tools: Option<&'a NativeWebToolsReport>,
}

/// Turns the events of one turn into frames.
pub(crate) struct Frames {
    ambient: Ambient,
    session_id: SessionId,
    spending: Spending,
    tool_results: HashMap<String, Value>,
    denials: Vec<Value>,
    stop_reason: Value,
    ending: Ending,
    /// The history is being summarised.
    compacting: bool,
}

impl Frames {
    pub(crate) fn new(facts: &SessionFacts<'_>, spending: Spending, ambient: Ambient) -> Self {
        Self {
            ambient,
            session_id: facts.session_id.clone(),
            spending,
            tool_results: HashMap::new(),
            denials: Vec::new(),
            stop_reason: Value::Null,
            ending: Ending::default(),
            compacting: false,
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
        let mut frame = self.frame(json!({
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
        }));
        let supported =
            |report: &&NativeWebToolsReport| report.web_search.supported || report.web_fetch.supported;
        if let Some(report) = facts.native_web_tools.filter(supported) {
            insert(&mut frame, "native_web_tools", json!(report));
        }
        frame
    }

    /// The frames of one event, in order; the last event of a turn gives its result.
    pub(crate) fn of(&mut self, kind: &EventKind) -> Vec<Value> {
        self.ending.note(kind);
        self.spending.note(kind);
        let status = self.status(kind);
        let mut frames = match kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                self.message(message)
            }
            EventKind::ProviderResponseNormalized { finish_reason, .. } => {
                self.stop_reason = json!(finish_reason);
                Vec::new()
            }
            EventKind::ToolExecutionResult { tool_call_id, result: Some(result), .. } => {
                self.tool_results.insert(tool_call_id.clone(), result.clone());
                Vec::new()
            }
            EventKind::ProviderRetry { attempt, max_attempts, delay_ms, reason, status, .. } => {
                vec![self.frame(json!({
                    "type": "system", "subtype": "api_retry", "attempt": attempt.saturating_sub(1),
                    "max_retries": max_attempts.saturating_sub(1),
                    "retry_delay_ms": delay_ms, "error_status": status, "error": reason,
                }))]
            }
            EventKind::ProviderFallback { .. } => {
                let told = remarks(kind);
                let plain = told.iter().map(|text| text.trim_start_matches("… "));
                plain.map(|text| self.informational(text, "warning")).collect()
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
            EventKind::ContextCompact { trigger, before, after, .. } => {
                let metadata = json!({
                    "trigger": trigger, "pre_tokens": before.used_tokens, "post_tokens": after.used_tokens,
                });
                vec![self.frame(json!({
                    "type": "system", "subtype": "compact_boundary", "compact_metadata": metadata,
                }))]
            }
            EventKind::Hook { hook_event_name, system_messages, failures, .. } => {
                let done = deeds(kind);
                let said = system_messages.iter().chain(&done);
                let said = said.map(|text| self.said(hook_event_name, text, "info"));
                let failed = failures.iter().map(|text| self.said(hook_event_name, text, "warning"));
                said.chain(failed).collect()
            }
            EventKind::ServerTool { tool, query } => vec![self.server_tool(tool, query)],
            EventKind::PermissionResolved { note: Some(note), .. } => vec![self.informational(note, "info")],
            EventKind::Complete { ended, rounds, usage, duration_ms, api_duration_ms, .. } => {
                vec![self.result(*ended, *rounds, *usage, *duration_ms, *api_duration_ms)]
            }
            _ => Vec::new(),
        };
        frames.splice(0..0, status);
        frames
    }

    fn server_tool(&self, tool: &str, query: &str) -> Value {
        let mut frame = self.informational(&format!("the provider runs {tool}: {query}"), "info");
        insert(&mut frame, "server_tool", json!({"name": tool, "query": query}));
        frame
    }

    /// Says when summarising begins, and when it is over, whether it came to anything or not.
    fn status(&mut self, kind: &EventKind) -> Option<Value> {
        let compacting = match kind {
            EventKind::ProviderRequest { purpose, .. } => *purpose == RequestPurpose::Compaction,
            EventKind::ContextCompact { .. }
            | EventKind::Interrupted { .. }
            | EventKind::Error { .. }
            | EventKind::Complete { .. } => false,
            _ => self.compacting,
        };
        let changed = std::mem::replace(&mut self.compacting, compacting) != compacting;
        let status = compacting.then_some("compacting");
        changed.then(|| self.frame(json!({"type": "system", "subtype": "status", "status": status})))
    }

    /// What a hook has to say to the person, or somebody of it.
    fn said(&self, hook_event_name: &str, text: &str, level: &str) -> Value {
        let mut frame = self.informational(text, level);
        insert(&mut frame, "hook_event_name", json!(hook_event_name));
        frame
    }

    fn informational(&self, text: &str, level: &str) -> Value {
        self.frame(json!({
            "type": "system", "subtype": "informational", "content": text, "level": level,
        }))
    }

    /// The frames of a message: one for each block of an answer, one for a tool's result.
    fn message(&mut self, message: &Message) -> Vec<Value> {
        match &message.body {
            Body::Assistant { content, tool_calls, reasoning, .. } => {
                let thinking = reasoning.iter().filter(|block| !block.text.is_empty()).map(|block| {
                    json!({"type": "thinking", "thinking": block.text, "signature": block.signature.as_deref().unwrap_or_default()})
                });
                let text = content.iter().map(|text| json!({"type": "text", "text": text}));
                let calls = tool_calls.iter().map(tool_use);
                let usage = message.usage().unwrap_or_default();
                let blocks = thinking.chain(text).chain(calls);
                blocks.map(|block| self.assistant(&message.id, &block, usage)).collect()
            }
            Body::Tool { content, tool_call_id, is_error, parts, .. } => {
                let content = content_of(content, parts);
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
                "id": message_id, "type": "message", "role": "assistant", "model": self.spending.model(),
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
        let (cost, models) = self.spending.of(usage);
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
            "modelUsage": models,
            "permission_denials": self.denials,
        }));
        for (key, value) in self.ending.fields(ended) {
            insert(&mut frame, key, value);
        }
        frame
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
    let input = Some(call.parameters()).filter(Value::is_object).unwrap_or_else(|| json!({}));
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

#[cfg(test)]
mod tests {
    use robota_core::{CompactTrigger, ContextState, HistoryRef, HookOutcome, ModelTable, TurnAbortReason};
    use robota_testkit::fixed_ambient;

    use super::*;

    /// The frames of a turn, without what every frame carries.
    fn frames_of(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Value> {
        let session_id: SessionId = "s1".parse().unwrap();
        let facts = SessionFacts {
            session_id: &session_id,
            cwd: Path::new("/p"),
            model: "m",
            tools: Vec::new(),
            permission_mode: "default",
            api_key_source: "none",
            native_web_tools: None,
        };
        let named = |name: &str| (name.to_owned(), ModelTable::builtin().lookup(name));
        let spending = Spending::new(named("m"), [named("claude-haiku-4-5")]);
        let mut frames = Frames::new(&facts, spending, fixed_ambient());
        let mut written: Vec<Value> = kinds.into_iter().flat_map(|kind| frames.of(&kind)).collect();
        for fields in written.iter_mut().filter_map(Value::as_object_mut) {
            assert_eq!(fields.shift_remove("session_id"), Some(json!("s1")));
            assert!(fields.shift_remove("uuid").is_some_and(|id| id.is_string()));
        }
        written
    }

    fn request(purpose: RequestPurpose) -> EventKind {
        EventKind::ProviderRequest {
            round: 1,
            provider: "p".into(),
            model: "m".into(),
            history: HistoryRef::default(),
            last_words: false,
            purpose,
            digest: None,
        }
    }

    fn complete(ended: TurnEnd) -> EventKind {
        EventKind::Complete {
            ended,
            rounds: 1,
            usage: Usage::default(),
            history: HistoryRef::default(),
            duration_ms: 1,
            api_duration_ms: 1,
        }
    }

    /// Subtype, reason and errors of the result of a turn.
    fn verdict(kinds: Vec<EventKind>, ended: TurnEnd) -> [Value; 3] {
        let frames = frames_of(kinds.into_iter().chain([complete(ended)]));
        let last = frames.last().unwrap();
        assert_eq!((&last["type"], &last["is_error"]), (&json!("result"), &json!(true)));
        ["subtype", "terminal_reason", "errors"].map(|key| last[key].clone())
    }

    #[test]
    fn a_compaction_is_a_status_and_a_boundary() {
        let state = |used_tokens| ContextState { used_tokens, max_tokens: 200_000, used_percentage: 0.0 };
        let compacted = EventKind::ContextCompact {
            trigger: CompactTrigger::Auto,
            before: state(168_000),
            after: state(12_000),
            summarized_messages: 40,
            kept_messages: 2,
            parts: 2,
            usage: Usage::default(),
        };
        let parts = [RequestPurpose::Compaction, RequestPurpose::Compaction].map(request);
        let told = frames_of(parts.into_iter().chain([compacted, request(RequestPurpose::Turn)]));
        let status = |status: Option<&str>| json!({"type": "system", "subtype": "status", "status": status});
        let metadata = json!({"trigger": "auto", "pre_tokens": 168_000, "post_tokens": 12_000});
        let boundary = json!({"type": "system", "subtype": "compact_boundary", "compact_metadata": metadata});
        assert_eq!(told, [status(Some("compacting")), status(None), boundary]);
    }

    #[test]
    fn a_compaction_that_comes_to_nothing_is_over_before_the_result() {
        let told = frames_of([request(RequestPurpose::Compaction), complete(TurnEnd::Interrupted)]);
        let kinds: Vec<_> = told.iter().map(|frame| (&frame["subtype"], &frame["status"])).collect();
        let (status, result) = (json!("status"), json!("error_during_execution"));
        let expected = [(&status, &json!("compacting")), (&status, &Value::Null), (&result, &Value::Null)];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn what_hooks_say_to_the_person_is_passed_on() {
        let mut told = HookOutcome::context("for the model");
        told.system_messages.push("Tests were not run.".into());
        told.failures.push("`fmt` was not found".into());
        let hook = EventKind::of_hooks("Stop", &told);
        let informational = json!({
            "type": "system", "subtype": "informational", "content": "Tests were not run.", "level": "info",
            "hook_event_name": "Stop",
        });
        let failed = json!({
            "type": "system", "subtype": "informational", "content": "`fmt` was not found", "level": "warning",
            "hook_event_name": "Stop",
        });
        assert_eq!(frames_of([hook]), [informational, failed]);

        let told = frames_of([EventKind::of_hooks("Stop", &HookOutcome::blocked("test first"))]);
        assert_eq!(told[0]["content"], "hook Stop wants the model to go on: test first");
    }

    #[test]
    fn a_turn_that_a_hook_ended_is_an_error_with_its_reason() {
        let mut outcome = HookOutcome::default();
        outcome.stop = Some("enough for today".into());
        let hook = EventKind::of_hooks("PostToolUse", &outcome);
        let error = json!(["a hook ended the turn: enough for today"]);
        assert_eq!(
            verdict(vec![hook], TurnEnd::Stopped),
            [json!("error_during_execution"), json!("hook_stopped"), error]
        );
    }

    #[test]
    fn a_prompt_that_a_hook_stopped_is_an_error_with_its_reason() {
        let hook = |name: &str, reason: &str| EventKind::of_hooks(name, &HookOutcome::blocked(reason));
        let hooks = vec![hook("UserPromptSubmit", "no secrets, please"), hook("Stop", "go on")];
        let error = json!(["a hook did not let the prompt through: no secrets, please"]);
        assert_eq!(
            verdict(hooks, TurnEnd::Blocked),
            [json!("error_during_execution"), json!("hook_stopped"), error]
        );
        let error = json!(["a hook did not let the prompt through"]);
        assert_eq!(verdict(Vec::new(), TurnEnd::Blocked)[2], error);
    }

    #[test]
    fn an_abort_says_why() {
        let aborted = |reason| {
            let interrupted = EventKind::Interrupted { reason, history: HistoryRef::default() };
            verdict(vec![request(RequestPurpose::Turn), interrupted], TurnEnd::Interrupted)
        };
        let told = [json!("error_during_execution"), json!("aborted_streaming")];
        assert_eq!(aborted(TurnAbortReason::Interrupted)[..2], told);
        assert_eq!(aborted(TurnAbortReason::Interrupted)[2], json!(["the turn was interrupted"]));
        assert_eq!(aborted(TurnAbortReason::Timeout)[2], json!(["the turn was aborted: it took too long"]));
    }

    #[test]
    fn what_the_provider_runs_by_itself_is_told() {
        let search = EventKind::ServerTool { tool: "web_search".into(), query: "bolts".into() };
        let told = frames_of([search]);
        assert_eq!(told[0]["content"], "the provider runs web_search: bolts");
        assert_eq!(told[0]["server_tool"], json!({"name": "web_search", "query": "bolts"}));
    }

    #[test]
    fn what_another_model_answers_is_told_and_paid_as_its_own() {
        let event = |fields: Value| serde_json::from_value::<EventKind>(fields).unwrap();
        let request = || {
            event(
                json!({"event": "provider_request", "round": 1, "provider": "p", "model": "m", "history": HistoryRef::default()}),
            )
        };
        let usage = |input_tokens| Usage { input_tokens, output_tokens: 1, ..Usage::default() };
        let answered = |usage: Usage| EventKind::ProviderResponseNormalized {
            round: 1,
            message_id: "a".into(),
            response_id: None,
            model: "dated".into(),
            finish_reason: robota_core::FinishReason::EndTurn,
            usage,
            tool_calls_count: 0,
            renamed_calls: serde_json::Map::new(),
        };
        let fallback = event(
            json!({"event": "provider_fallback", "provider": "p", "model": "claude-haiku-4-5", "reason": "busy"}),
        );
        let complete = EventKind::Complete {
            ended: TurnEnd::Completed,
            rounds: 2,
            usage: Usage { input_tokens: 1_000_007, output_tokens: 2, ..Usage::default() },
            history: HistoryRef::default(),
            duration_ms: 1,
            api_duration_ms: 1,
        };
        let frames = frames_of([
            request(),
            answered(usage(7)),
            request(),
            fallback,
            answered(usage(1_000_000)),
            complete,
        ]);
        assert_eq!(frames[0]["content"], "busy; claude-haiku-4-5 (p) is asked instead");
        let models = &frames[1]["modelUsage"];
        assert_eq!(
            (&models["m"]["inputTokens"], &models["claude-haiku-4-5"]["inputTokens"]),
            (&json!(7), &json!(1_000_000))
        );
        let haiku = ModelTable::builtin().lookup("claude-haiku-4-5").cost(&usage(1_000_000));
        assert_eq!(frames[1]["total_cost_usd"].as_f64(), haiku);
    }
}
