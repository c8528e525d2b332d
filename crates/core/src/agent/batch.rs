//! The tool calls of one answer: run as far in parallel as the tools allow, answered in call order.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;

use super::{Agent, Authorization, GateRequest, Turn, output_budget};
use crate::{
    Body, DynTool, Error, EventKind, Message, PreparedCall, ToolCall, ToolContext, ToolOutcome, ToolResult,
};

/// Most calls that run at once (facts sheet 2.2).
const MAX_PARALLEL: usize = 5;

/// How long a tool may take to end after an abort; then it is dropped, which kills what it runs.
const ABORT_GRACE: Duration = Duration::from_secs(3);

/// What the model is told of a call that an abort came before.
const NOT_RUN_ABORTED: &str = "Not run: the user interrupted the turn.";

/// What the model is told of a call that would have run with the context window nearly full.
const NOT_RUN_CROWDED: &str = "Not run: the context window is nearly full.";

/// What the model is told of a call that comes after a failure that ends the turn.
const NOT_RUN_BROKEN: &str = "Not run: an earlier call failed in a way that ended the turn.";

/// What the model is told of a result that no longer fits.
const LEFT_OUT: &str = "This call ran, but its result was left out: the context window is nearly full.";

/// A call and what came of it.
type CallEnd<'a> = (&'a ToolCall, Result<ToolOutcome, Error>);

/// What the next round should know of a batch.
pub(super) struct BatchReport {
    /// Whether every call of the batch was to a tool that does not exist.
    pub(super) only_unknown: bool,
    /// Whether a call or its result was left out for want of room.
    pub(super) left_out: bool,
}

impl Agent {
    /// Runs `calls` and appends one tool message for each, whatever happens, in call order.
    ///
    /// Neighbours that are safe to run in parallel run together; every other call runs alone. After a failure
    /// that ends the turn, calls that run already come to their end, and no other one begins.
    pub(super) async fn run_batch(
        &self,
        turn: &Turn<'_>,
        round: u32,
        calls: &[ToolCall],
    ) -> Result<BatchReport, Error> {
        let tools = calls.iter().map(|call| call.name.clone()).collect();
        turn.sink.emit(EventKind::ToolBatchStarted { round, max_concurrency: MAX_PARALLEL, tools });
        let mut fatal = None;
        let broken = AtomicBool::new(false);
        let mut only_unknown = true;
        let mut crowded = false;
        let mut some_left_out = false;
        for group in self.groups(calls) {
            let admission = Admission { turn, crowded, broken: &broken };
            let runs: Vec<BoxFuture<'_, CallEnd<'_>>> = group
                .filter_map(|index| Some((index, calls.get(index)?)))
                .map(|(index, call)| {
                    async move { (call, self.run_call(admission, index, call).await) }.boxed()
                })
                .collect();
            let mut results = stream::iter(runs).buffered(MAX_PARALLEL);
            while let Some((call, result)) = results.next().await {
                let outcome = result.unwrap_or_else(|error| {
                    let outcome = failed(call, &error);
                    fatal.get_or_insert(error);
                    outcome
                });
                only_unknown &= outcome.error_code == Some("unknown_tool");
                some_left_out |= crowded;
                self.commit_result(turn, call, if crowded { left_out(outcome) } else { outcome });
                crowded = crowded || self.window.is_crowded(&turn.lock());
            }
        }
        match fatal {
            Some(error) => Err(error),
            None => Ok(BatchReport { only_unknown, left_out: some_left_out }),
        }
    }

    fn tool(&self, name: &str) -> Option<&dyn DynTool> {
        self.config.tools.iter().map(AsRef::as_ref).find(|tool| tool.spec().name == name)
    }

    /// Ranges of neighbours that may run together.
    fn groups(&self, calls: &[ToolCall]) -> Vec<Range<usize>> {
        let mut start = 0;
        let groups = calls.chunk_by(|one, next| self.may_overlap(one) && self.may_overlap(next));
        groups
            .map(|group| {
                let range = start..start + group.len();
                start = range.end;
                range
            })
            .collect()
    }

    fn may_overlap(&self, call: &ToolCall) -> bool {
        self.tool(&call.name).is_none_or(|tool| tool.spec().parallel_safe)
    }

    /// One call, from its arguments to its outcome. An `Err` means that the log or the tool's world is broken.
    async fn run_call(
        &self,
        admission: Admission<'_>,
        index: usize,
        call: &ToolCall,
    ) -> Result<ToolOutcome, Error> {
        let turn = admission.turn;
        if let Some(outcome) = admission.refusal() {
            return Ok(outcome);
        }
        let Some(tool) = self.tool(&call.name) else { return Ok(self.unknown_tool(turn, index, call)) };
        let prepared = match tool.prepare(&call.arguments) {
            Ok(prepared) => prepared,
            Err(error) => {
                let outcome = ToolOutcome::failure(error.to_string()).with_error_code("invalid_arguments");
                announce(turn, index, call);
                report(turn, index, call, &outcome, 0);
                return Ok(outcome);
            }
        };
        let request = GateRequest::new(call, tool.spec(), prepared.access(), turn.cancel);
        let authorization = turn.gate.authorize(request).await;
        if authorization == Authorization::Allowed && admission.is_broken() {
            return Ok(not_run_broken());
        }
        // Only now: a call that waits for a person has not begun.
        announce(turn, index, call);
        match authorization {
            Authorization::Allowed => {
                let result = self.execute(turn, index, call, prepared).await;
                if result.is_err() {
                    admission.broken.store(true, Ordering::Relaxed);
                }
                result
            }
            Authorization::Denied { reason, allow_rules } => {
                let told = match allow_rules.as_slice() {
                    [] => reason.clone(),
                    [rule] => format!("{reason} The user could allow it with the rule `{rule}`."),
                    rules => {
                        format!("{reason} The user could allow it with the rules `{}`.", rules.join("`, `"))
                    }
                };
                let outcome = ToolOutcome::failure(told).with_error_code("permission_denied");
                turn.sink.emit(EventKind::PermissionDenied {
                    tool_name: call.name.clone(),
                    tool_call_id: call.id.clone(),
                    parameters: parameters(call),
                    reason,
                    allow_rules,
                });
                report(turn, index, call, &outcome, 0);
                Ok(outcome)
            }
        }
    }

    async fn execute(
        &self,
        turn: &Turn<'_>,
        index: usize,
        call: &ToolCall,
        prepared: PreparedCall,
    ) -> Result<ToolOutcome, Error> {
        // The request is in the log before the effect, so that a crash in between shows.
        if let Err(error) = turn.sink.written().await {
            report(turn, index, call, &failed(call, &error), 0);
            return Err(error);
        }
        let started = self.config.ambient.now();
        let result = run_until_aborted(turn, call, prepared).await.map_err(Error::from);
        let duration = self.config.ambient.now().millis_since(started);
        match &result {
            Ok(outcome) => report(turn, index, call, outcome, duration),
            Err(error) => report(turn, index, call, &failed(call, error), duration),
        }
        result
    }

    fn unknown_tool(&self, turn: &Turn<'_>, index: usize, call: &ToolCall) -> ToolOutcome {
        let known: Vec<&str> = self.config.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let told = format!("There is no tool `{}`. Available tools: {}.", call.name, known.join(", "));
        let outcome = ToolOutcome::failure(told).with_error_code("unknown_tool");
        announce(turn, index, call);
        report(turn, index, call, &outcome, 0);
        outcome
    }

    fn commit_result(&self, turn: &Turn<'_>, call: &ToolCall, outcome: ToolOutcome) {
        let mut content = output_budget::fit(outcome.content, self.config.output_budget);
        if content.is_empty() && outcome.parts.is_empty() {
            content.push_str("(no output)");
        }
        let ambient = &self.config.ambient;
        let body = Body::Tool {
            content,
            tool_call_id: call.id.clone(),
            name: Some(call.name.clone()),
            is_error: outcome.is_error,
            parts: outcome.parts,
        };
        let mut message = Message::with_body(ambient.next_id(), ambient.now(), body);
        if let Some(code) = outcome.error_code {
            message.metadata.insert("errorCode".into(), Value::from(code));
        }
        let message_id = message.id.clone();
        turn.append(message);
        turn.sink.emit(EventKind::ToolMessageCommitted { tool_call_id: call.id.clone(), message_id });
    }
}

/// Whether calls of a batch may still begin.
#[derive(Clone, Copy)]
struct Admission<'a> {
    turn: &'a Turn<'a>,
    /// The window had no room for results before this group of calls.
    crowded: bool,
    /// A call has failed in a way that ends the turn.
    broken: &'a AtomicBool,
}

impl Admission<'_> {
    /// What a call that may not begin is answered with.
    fn refusal(&self) -> Option<ToolOutcome> {
        if self.crowded {
            return Some(ToolOutcome::failure(NOT_RUN_CROWDED).with_error_code("context_overflow"));
        }
        if self.turn.cancel.is_cancelled() {
            return Some(ToolOutcome::failure(NOT_RUN_ABORTED).with_error_code("interrupted"));
        }
        self.is_broken().then(not_run_broken)
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn not_run_broken() -> ToolOutcome {
    ToolOutcome::failure(NOT_RUN_BROKEN).with_error_code("not_run")
}

/// What is told of a call whose failure ends the turn.
fn failed(call: &ToolCall, error: &Error) -> ToolOutcome {
    ToolOutcome::failure(format!("{} failed: {error}", call.name)).with_error_code("tool_failed")
}

/// The outcome of a call whose result does not fit any more; what did not run says so already.
fn left_out(outcome: ToolOutcome) -> ToolOutcome {
    match outcome.error_code {
        Some("context_overflow" | "interrupted" | "not_run") => outcome,
        _ => ToolOutcome::failure(LEFT_OUT).with_error_code("context_overflow"),
    }
}

/// Runs the tool; a panic in it is its failure, not the session's.
async fn run_until_aborted(turn: &Turn<'_>, call: &ToolCall, prepared: PreparedCall) -> ToolResult {
    let context =
        ToolContext::new(call.id.as_str(), turn.cancel.child_token()).with_progress(turn.progress_of(call));
    let mut running = AssertUnwindSafe(prepared.run(context)).catch_unwind();
    let ended = tokio::select! {
        biased;
        ended = &mut running => Some(ended),
        () = turn.cancel.cancelled() => tokio::time::timeout(ABORT_GRACE, &mut running).await.ok(),
    };
    match ended {
        Some(Ok(result)) => result,
        Some(Err(_)) => {
            let told = format!("{} crashed while it ran. This is a defect of the tool.", call.name);
            Ok(ToolOutcome::failure(told).with_error_code("tool_crashed"))
        }
        None => {
            let told = format!("{} did not stop in time after the interrupt and was killed.", call.name);
            Ok(ToolOutcome::failure(told).with_error_code("interrupted"))
        }
    }
}

/// Records that a call is dealt with; its result, or the end of the process, comes next.
fn announce(turn: &Turn<'_>, index: usize, call: &ToolCall) {
    turn.sink.emit(EventKind::ToolExecutionRequest {
        index,
        tool_name: call.name.clone(),
        tool_call_id: call.id.clone(),
        parameters: parameters(call),
    });
}

fn report(turn: &Turn<'_>, index: usize, call: &ToolCall, outcome: &ToolOutcome, duration_ms: u64) {
    turn.sink.emit(EventKind::ToolExecutionResult {
        index,
        tool_name: call.name.clone(),
        tool_call_id: call.id.clone(),
        success: !outcome.is_error,
        error_code: outcome.error_code.map(str::to_owned),
        result: outcome.structured.clone(),
        duration_ms,
    });
}

/// The arguments as JSON; as a string when the model wrote none.
fn parameters(call: &ToolCall) -> Value {
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(call.arguments.as_str()))
}
