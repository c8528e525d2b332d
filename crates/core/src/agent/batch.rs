//! The tool calls of one answer: run as far in parallel as the tools allow, answered in call order.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;

use super::call::{Admission, Dealt, failed};
use super::{Agent, Turn};
use crate::{Body, Error, EventKind, Message, ToolCall, ToolOutcome, system_reminder};

/// Most calls that run at once (facts sheet 2.2).
const MAX_PARALLEL: usize = 5;

/// What the model is told of a result that no longer fits.
const LEFT_OUT: &str = "This call ran, but its result was left out: the context window is nearly full.";

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
    /// Of an answer that was `cut_off` the last call does not run when its arguments are not whole.
    ///
    /// Neighbours that are safe to run in parallel run together; every other call runs alone. After a failure
    /// that ends the turn, calls that run already come to their end, and no other one begins.
    pub(super) async fn run_batch(
        &self,
        turn: &Turn<'_>,
        round: u32,
        calls: &[ToolCall],
        cut_off: bool,
    ) -> Result<BatchReport, Error> {
        let tools = calls.iter().map(|call| call.name.clone()).collect();
        turn.sink.emit(EventKind::ToolBatchStarted { round, max_concurrency: MAX_PARALLEL, tools });
        let mut fatal = None;
        let cut_off = calls.len().checked_sub(1).filter(|_| cut_off);
        let broken = AtomicBool::new(false);
        let mut only_unknown = true;
        let mut crowded = false;
        let mut some_left_out = false;
        for group in self.groups(calls) {
            let admission = Admission { turn, crowded, broken: &broken, cut_off };
            let runs: Vec<BoxFuture<'_, (&ToolCall, Dealt)>> = group
                .filter_map(|index| Some((index, calls.get(index)?)))
                .map(|(index, call)| {
                    async move { (call, self.run_call(admission, index, call).await) }.boxed()
                })
                .collect();
            let mut results = stream::iter(runs).buffered(MAX_PARALLEL);
            while let Some((call, dealt)) = results.next().await {
                let outcome = dealt.outcome.unwrap_or_else(|error| {
                    let outcome = failed(call, &error);
                    fatal.get_or_insert(error);
                    outcome
                });
                only_unknown &= outcome.error_code == Some("unknown_tool");
                some_left_out |= crowded;
                if crowded {
                    self.commit_result(turn, call, left_out(outcome), &[]);
                } else {
                    self.commit_result(turn, call, outcome, &dealt.context);
                }
                crowded = crowded || self.window.is_crowded(&turn.lock());
            }
        }
        match fatal {
            Some(error) => Err(error),
            None => Ok(BatchReport { only_unknown, left_out: some_left_out }),
        }
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

    /// Makes the result part of the history. `context` stands behind it, so that no budget cuts it.
    fn commit_result(&self, turn: &Turn<'_>, call: &ToolCall, outcome: ToolOutcome, context: &[String]) {
        let mut content = outcome.content;
        if content.is_empty() && outcome.parts.is_empty() {
            content.push_str("(no output)");
        }
        if let Some(reminder) = system_reminder(context) {
            let gap = if content.is_empty() { "" } else { "\n\n" };
            content = format!("{content}{gap}{reminder}");
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

/// The outcome of a call whose result does not fit any more; what did not run says so already.
fn left_out(outcome: ToolOutcome) -> ToolOutcome {
    match outcome.error_code {
        Some("context_overflow" | "interrupted" | "not_run") => outcome,
        _ => ToolOutcome::failure(LEFT_OUT).with_error_code("context_overflow"),
    }
}
