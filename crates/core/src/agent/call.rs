//! One tool call, from its arguments to its outcome.

use std::borrow::Cow;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::output_budget::{Budget, reads_files};
use super::{Agent, Authorization, Before, EndedCall, GateRequest, Turn};
use crate::{
    DynTool, Error, EventKind, InvalidArguments, OutputSpill, PreparedCall, ToolCall, ToolContext,
    ToolOutcome, ToolResult, ToolSpec, read_arguments,
};

/// How long a tool may take to end after an abort; then it is dropped, which kills what it runs.
const ABORT_GRACE: Duration = Duration::from_secs(3);

/// What the model is told of a call that an abort came before.
const NOT_RUN_ABORTED: &str = "Not run: the user interrupted the turn.";

/// What the model is told of a call that would have run with the context window nearly full.
const NOT_RUN_CROWDED: &str = "Not run: the context window is nearly full.";

/// What the model is told of a call that comes after a failure that ends the turn.
const NOT_RUN_BROKEN: &str = "Not run: an earlier call failed in a way that ended the turn.";

/// What the model is told of a call that comes after a hook has ended the turn.
const NOT_RUN_STOPPED: &str = "Not run: a hook ended the turn.";

/// Why a call does not run about which nobody could decide.
const GATE_CRASHED: &str = "the check before it crashed, which is a defect of robota or of its host";

/// Why a call does not run whose arguments are changed again and again.
const REVISED_AGAIN: &str = "its arguments were changed more than once.";

/// What came of a call.
pub(super) struct Dealt {
    /// What the model is told; an `Err` means that the log or the tool's world is broken.
    pub(super) outcome: Result<ToolOutcome, Error>,
    /// What others have to say of it to the model.
    pub(super) context: Vec<String>,
}

impl Dealt {
    fn plain(outcome: ToolOutcome) -> Self {
        Self { outcome: Ok(outcome), context: Vec::new() }
    }
}

/// A call of a batch, at its place.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) turn: &'a Turn<'a>,
    pub(super) index: usize,
    pub(super) call: &'a ToolCall,
}

/// A call that may run yet.
struct Candidate<'a> {
    tool: &'a dyn DynTool,
    /// With the arguments it would run with.
    call: Cow<'a, ToolCall>,
    prepared: PreparedCall,
    said: Before,
    /// Everything that was said for the model.
    context: Vec<String>,
}

impl Candidate<'_> {
    /// Takes what was said, with the arguments that it gives the call.
    fn hear(&mut self, said: Before) -> Result<(), InvalidArguments> {
        self.said = said;
        if let Some(arguments) = &self.said.arguments {
            self.call.to_mut().arguments.clone_from(arguments);
            self.prepared = self.tool.prepare(arguments)?;
        }
        Ok(())
    }

    /// What the gate decides after `said` was said. It may have the call decided once more, with other arguments;
    /// a second time it gets no answer.
    async fn decide(&mut self, turn: &Turn<'_>, said: Before) -> Result<Authorization, InvalidArguments> {
        let mut said = said;
        for _ in 0..2 {
            self.context.append(&mut said.context);
            if let Some(reason) = said.refusal {
                return Ok(Authorization::Blocked { reason });
            }
            self.hear(said)?;
            let request = self.request(turn.cancel);
            match authorize(turn, request).await {
                Authorization::Revised(revised) => said = *revised,
                decided => return Ok(decided),
            }
        }
        Ok(Authorization::Revised(Box::new(said)))
    }

    fn request<'r>(&'r self, cancel: &'r CancellationToken) -> GateRequest<'r> {
        GateRequest::new(&self.call, self.tool.spec(), self.prepared.access(), cancel).with_said(&self.said)
    }
}

impl Agent {
    /// Deals with one call: checks its arguments, asks the gate, runs it, and tells the gate what came of it.
    pub(super) async fn run_call(&self, admission: Admission<'_>, index: usize, call: &ToolCall) -> Dealt {
        let turn = admission.turn;
        let placed = Placed { turn, index, call };
        if let Some(outcome) = admission.refusal() {
            return Dealt::plain(outcome);
        }
        if admission.cut_off == Some(index)
            && let Some(outcome) = cut_off(call)
        {
            return Dealt::plain(placed.answered(outcome));
        }
        let Some(tool) = self.tool(&call.name) else { return Dealt::plain(self.unknown_tool(placed)) };
        let (call, prepared) = match prepare(tool, call) {
            Ok(read) => read,
            Err(error) => {
                let outcome = ToolOutcome::failure(error.to_string()).with_error_code("invalid_arguments");
                return Dealt::plain(placed.answered(outcome));
            }
        };
        let request = GateRequest::new(&call, tool.spec(), prepared.access(), turn.cancel);
        let before = unless_crashed(|| turn.gate.before(request)).await;
        let said =
            before.unwrap_or_else(|| Before { refusal: Some(GATE_CRASHED.to_owned()), ..Before::default() });
        let candidate = Candidate { tool, call, prepared, said: Before::default(), context: Vec::new() };
        self.pass(admission, placed, candidate, said).await
    }

    /// A call of which `said` was said, on its way through the gate.
    async fn pass(
        &self,
        admission: Admission<'_>,
        placed: Placed<'_>,
        mut candidate: Candidate<'_>,
        said: Before,
    ) -> Dealt {
        // What an abort cut off has said nothing that could be relied on.
        if let Some(outcome) = admission.refusal() {
            return Dealt::plain(outcome);
        }
        let decided = candidate.decide(placed.turn, said).await;
        if admission.is_aborted() {
            return Dealt::plain(not_run(NOT_RUN_ABORTED, "interrupted"));
        }
        let Candidate { tool, call, prepared, context, .. } = candidate;
        let placed = Placed { call: &call, ..placed };
        let refused = match decided {
            Ok(Authorization::Allowed) => None,
            Ok(Authorization::Blocked { reason }) => Some(placed.blocked(&reason)),
            Ok(Authorization::Denied { reason, allow_rules }) => Some(placed.denied(reason, allow_rules)),
            Ok(Authorization::Revised(_)) => Some(placed.denied(REVISED_AGAIN.to_owned(), Vec::new())),
            Err(error) => {
                let told = format!("Not run: a hook changed the arguments, and then {error}");
                Some(placed.answered(ToolOutcome::failure(told).with_error_code("invalid_arguments")))
            }
        };
        match refused {
            Some(outcome) => Dealt { outcome: Ok(outcome), context },
            // A call that waited for a person has not begun.
            None => match admission.refusal() {
                Some(outcome) => Dealt::plain(outcome),
                None => self.execute(admission, placed, (tool.spec(), prepared), context).await,
            },
        }
    }

    async fn execute(
        &self,
        admission: Admission<'_>,
        placed: Placed<'_>,
        (spec, prepared): (&ToolSpec, PreparedCall),
        mut context: Vec<String>,
    ) -> Dealt {
        let Placed { turn, call, .. } = placed;
        placed.announce();
        // The request is in the log before the effect, so that a crash in between shows.
        if let Err(error) = turn.sink.written().await {
            placed.report(&failed(call, &error), 0);
            admission.broken.store(true, Ordering::Relaxed);
            return Dealt { outcome: Err(error), context };
        }
        let started = self.config.ambient.now();
        let budget = Budget { characters: self.config.output_budget, spill: self.config.spill.as_ref() };
        let from_file = reads_files(prepared.access());
        let result = run_until_aborted(turn, call, prepared, budget.spill).await.map_err(Error::from);
        if result.is_err() {
            admission.broken.store(true, Ordering::Relaxed);
        }
        let duration = self.config.ambient.now().millis_since(started);
        let (outcome, fatal) = match result {
            Ok(outcome) => (outcome, None),
            Err(error) => (failed(call, &error), Some(error)),
        };
        let shown = budget.fit(outcome, &call.id, from_file).await;
        placed.report(&shown, duration);
        let ended = EndedCall::new(call, spec, &shown, turn.cancel);
        let after = unless_crashed(|| turn.gate.after(ended)).await.unwrap_or_default();
        context.extend(after.context);
        Dealt { outcome: fatal.map_or(Ok(shown), Err), context }
    }

    fn unknown_tool(&self, placed: Placed<'_>) -> ToolOutcome {
        let known: Vec<&str> = self.config.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let told = format!("There is no tool `{}`. Available tools: {}.", placed.call.name, known.join(", "));
        placed.answered(ToolOutcome::failure(told).with_error_code("unknown_tool"))
    }

    pub(super) fn tool(&self, name: &str) -> Option<&dyn DynTool> {
        self.config.tools.iter().map(AsRef::as_ref).find(|tool| tool.spec().name == name)
    }
}

/// The call as it would run: with its arguments mended where the model slipped, so that whoever judges it is told what
/// runs.
fn prepare<'a>(
    tool: &dyn DynTool,
    call: &'a ToolCall,
) -> Result<(Cow<'a, ToolCall>, PreparedCall), InvalidArguments> {
    if call.arguments.trim().is_empty() {
        return Ok((Cow::Borrowed(call), tool.prepare(&call.arguments)?));
    }
    match read_arguments(&call.arguments) {
        Ok(Cow::Borrowed(arguments)) => Ok((Cow::Borrowed(call), tool.prepare(arguments)?)),
        Ok(Cow::Owned(arguments)) => {
            let prepared = tool.prepare(&arguments)?;
            let mut call = call.clone();
            call.arguments = arguments;
            Ok((Cow::Owned(call), prepared))
        }
        // A tool may read what no other does.
        Err(malformed) => {
            let why = |_| InvalidArguments::of(&call.name, &malformed);
            Ok((Cow::Borrowed(call), tool.prepare(&call.arguments).map_err(why)?))
        }
    }
}

/// The outcome of a call in the middle of which the answer was cut off; `None` when its arguments are whole.
fn cut_off(call: &ToolCall) -> Option<ToolOutcome> {
    let malformed = read_arguments(&call.arguments).err()?;
    let (name, place) = (&call.name, (malformed.line, malformed.column));
    let told = format!(
        "Not run: the answer was cut at the output limit while the arguments of {name} were written, after {} \
         characters (line {} column {}). Write less in one call, for instance in several steps.",
        call.arguments.chars().count(),
        place.0,
        place.1,
    );
    Some(not_run(&told, "arguments_cut"))
}

/// Asks the gate; a crash of it lets nothing through.
async fn authorize(turn: &Turn<'_>, request: GateRequest<'_>) -> Authorization {
    let decided = unless_crashed(|| turn.gate.authorize(request)).await;
    decided
        .unwrap_or_else(|| Authorization::Denied { reason: GATE_CRASHED.to_owned(), allow_rules: Vec::new() })
}

/// What `begin` comes to; `None` when it panics, which is the gate's failure and not the session's.
async fn unless_crashed<T, F: Future<Output = T>>(begin: impl FnOnce() -> F) -> Option<T> {
    AssertUnwindSafe(async move { begin().await }).catch_unwind().await.ok()
}

/// Whether calls of a batch may still begin.
#[derive(Clone, Copy)]
pub(super) struct Admission<'a> {
    pub(super) turn: &'a Turn<'a>,
    /// The window had no room for results before this group of calls.
    pub(super) crowded: bool,
    /// A call has failed in a way that ends the turn.
    pub(super) broken: &'a AtomicBool,
    /// The call with which the answer ends, when the answer was cut off.
    pub(super) cut_off: Option<usize>,
}

impl Admission<'_> {
    /// What a call that may not begin is answered with.
    fn refusal(&self) -> Option<ToolOutcome> {
        let (told, code) = if self.crowded {
            (NOT_RUN_CROWDED, "context_overflow")
        } else if self.is_aborted() {
            (NOT_RUN_ABORTED, "interrupted")
        } else if self.broken.load(Ordering::Relaxed) {
            (NOT_RUN_BROKEN, "not_run")
        } else if self.turn.host.stopped() {
            (NOT_RUN_STOPPED, "not_run")
        } else {
            return None;
        };
        Some(not_run(told, code))
    }

    fn is_aborted(&self) -> bool {
        self.turn.cancel.is_cancelled()
    }
}

impl Placed<'_> {
    /// Records that the call is dealt with; its result, or the end of the process, comes next.
    fn announce(&self) {
        self.turn.sink.emit(EventKind::ToolExecutionRequest {
            index: self.index,
            tool_name: self.call.name.clone(),
            tool_call_id: self.call.id.clone(),
            parameters: self.call.parameters(),
        });
    }

    fn report(&self, outcome: &ToolOutcome, duration_ms: u64) {
        self.turn.sink.emit(EventKind::ToolExecutionResult {
            index: self.index,
            tool_name: self.call.name.clone(),
            tool_call_id: self.call.id.clone(),
            success: !outcome.is_error,
            error_code: outcome.error_code.map(str::to_owned),
            result: outcome.structured.clone(),
            duration_ms,
        });
    }

    /// The call is answered without running.
    fn answered(&self, outcome: ToolOutcome) -> ToolOutcome {
        self.announce();
        self.report(&outcome, 0);
        outcome
    }

    /// A hook does not let the call run (seed `000`, Error Taxonomy).
    fn blocked(&self, reason: &str) -> ToolOutcome {
        let told = format!("Blocked by hook: {reason}");
        let outcome = ToolOutcome::failure(told.as_str()).with_error_code("hook_blocked");
        self.refused(outcome, told, Vec::new())
    }

    /// Rules, mode or a person do not let the call run (seed `000`, Error Taxonomy).
    fn denied(&self, reason: String, allow_rules: Vec<String>) -> ToolOutcome {
        let mut told = format!("Permission denied: {reason}");
        if !allow_rules.is_empty() {
            let end = if reason.ends_with('.') { "" } else { "." };
            let s = if allow_rules.len() == 1 { "" } else { "s" };
            let rules = allow_rules.join("`, `");
            told.push_str(&format!("{end} The user could allow it with the rule{s} `{rules}`."));
        }
        let outcome = ToolOutcome::failure(told).with_error_code("permission_denied");
        self.refused(outcome, reason, allow_rules)
    }

    fn refused(&self, outcome: ToolOutcome, reason: String, allow_rules: Vec<String>) -> ToolOutcome {
        self.announce();
        self.turn.sink.emit(EventKind::PermissionDenied {
            tool_name: self.call.name.clone(),
            tool_call_id: self.call.id.clone(),
            parameters: self.call.parameters(),
            reason,
            allow_rules,
        });
        self.report(&outcome, 0);
        outcome
    }
}

/// The outcome of a call that never began, so that nothing tells of its start.
fn not_run(told: &str, code: &'static str) -> ToolOutcome {
    ToolOutcome::failure(told).with_error_code(code)
}

/// What is told of a call whose failure ends the turn.
pub(super) fn failed(call: &ToolCall, error: &Error) -> ToolOutcome {
    ToolOutcome::failure(format!("{} failed: {error}", call.name)).with_error_code("tool_failed")
}

/// Runs the tool; a panic in it is its failure, not the session's.
async fn run_until_aborted(
    turn: &Turn<'_>,
    call: &ToolCall,
    prepared: PreparedCall,
    spill: Option<&Arc<dyn OutputSpill>>,
) -> ToolResult {
    let context = ToolContext::new(call.id.as_str(), turn.cancel.child_token())
        .with_progress(turn.progress_of(call))
        .with_spill(spill.cloned());
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
