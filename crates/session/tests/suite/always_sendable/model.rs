//! A model that says what a step has put down for it, the tools it calls, and hooks with a say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::{
    DynTool, HookCall, HookInput, HookOutcome, HookRunner, InvalidArguments, ModelRequest, ModelStream,
    PreparedCall, Provider, ProviderInfo, ToolClass, ToolOutcome, ToolSpec,
};
use robota_testkit::{Gate, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::steps::Summary;

/// What the model says next; an idle text when nothing is put down.
type Lines = Arc<Mutex<VecDeque<Reply>>>;

/// Turns and summaries come from one model, but not from one script.
pub(crate) struct Model {
    turns: Mutex<Arc<ScriptedProvider>>,
    summaries: ScriptedProvider,
    lines: Lines,
    /// How the next compaction goes, and the gate at which its summary stops.
    summary: Arc<Mutex<(Summary, String)>>,
    info: ProviderInfo,
}

impl Model {
    pub(crate) fn new() -> Self {
        let lines = Lines::default();
        let summary = Arc::new(Mutex::new((Summary::Works, String::new())));
        let turns = scripted(&lines);
        let script = Script::new().respond_with({
            let (summary, count) = (summary.clone(), AtomicU32::new(0));
            move |_| {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let text = format!("Summary {number} of what was.");
                let (summary, gate) = summary.lock().unwrap().clone();
                match summary {
                    Summary::Works | Summary::Blocked => Reply::new().text(text),
                    Summary::Empty => Reply::new(),
                    Summary::Fails => Reply::new().text("Half a summ").cut(),
                    Summary::Aborted | Summary::Dropped => Reply::new().text(text).gate(gate),
                }
            }
        });
        let summaries = ScriptedProvider::new(script);
        let info = turns.info().clone();
        Self { turns: Mutex::new(turns), summaries, lines, summary, info }
    }

    pub(crate) fn says(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.lines.lock().unwrap() = replies.into_iter().collect();
    }

    /// How compactions go from now on; the gate is the one at which their summaries stop, if they do.
    pub(crate) fn summarises(&self, summary: Summary, gate: &str) -> Gate {
        *self.summary.lock().unwrap() = (summary, gate.to_owned());
        self.summaries.gate(gate)
    }

    pub(crate) fn gate(&self, name: &str) -> Gate {
        self.turns.lock().unwrap().gate(name)
    }

    /// From now on the model sees another conversation than before, and may.
    pub(crate) fn forget(&self) {
        self.assert_clean();
        *self.turns.lock().unwrap() = scripted(&self.lines);
    }

    pub(crate) fn assert_clean(&self) {
        self.turns.lock().unwrap().assert_clean();
        self.summaries.assert_clean();
    }
}

fn scripted(lines: &Lines) -> Arc<ScriptedProvider> {
    let lines = lines.clone();
    let script = Script::new()
        .respond_with(move |_| lines.lock().unwrap().pop_front().unwrap_or_else(|| Reply::from("On we go.")));
    Arc::new(ScriptedProvider::new(script))
}

impl Provider for Model {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        if request.system.starts_with("You summarise") {
            return self.summaries.stream(request, cancel);
        }
        let turns = self.turns.lock().unwrap().clone();
        turns.stream(request, cancel)
    }
}

/// How often each call has run, by its id.
pub(crate) type Runs = Arc<Mutex<BTreeMap<String, u32>>>;

/// A tool that needs an object with `n` in it.
pub(crate) struct Tool {
    spec: Arc<ToolSpec>,
    runs: Runs,
    /// Reached when a call waits for the end of its turn.
    waits: Option<Arc<Mutex<Gate>>>,
}

impl Tool {
    pub(crate) fn all(runs: &Runs, waits: &Arc<Mutex<Gate>>) -> Vec<Arc<dyn DynTool>> {
        let tool = |name: &str| {
            let spec = ToolSpec::new(name, ToolClass::Other, "Does it.")
                .with_input_schema(json!({"type": "object"}));
            let spec = if name == "Act" { spec } else { spec.read_only() };
            let waits = (name == "Wait").then(|| waits.clone());
            Arc::new(Self { spec: Arc::new(spec), runs: runs.clone(), waits }) as Arc<dyn DynTool>
        };
        ["Look", "Act", "Large", "Failing", "Forbidden", "Wait"].map(tool).into()
    }
}

impl DynTool for Tool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        serde_json::from_str::<Value>(arguments).map_err(|error| InvalidArguments::new(error.to_string()))?;
        let (name, runs, waits) = (self.spec.name.clone(), self.runs.clone(), self.waits.clone());
        Ok(PreparedCall::new(Vec::new(), move |context| {
            Box::pin(async move {
                *runs.lock().unwrap().entry(context.call_id.to_string()).or_default() += 1;
                if let Some(gate) = waits {
                    let gate = gate.lock().unwrap().clone();
                    let _ = context.cancel.run_until_cancelled(gate.pass()).await;
                    return Ok(ToolOutcome::failure("interrupted"));
                }
                Ok(match name.as_str() {
                    "Large" => ToolOutcome::success("large ".repeat(7_000)),
                    "Failing" => ToolOutcome::failure("It failed."),
                    _ => ToolOutcome::success("done"),
                })
            })
        }))
    }
}

/// Hooks that object when they are told to.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) prompt: AtomicBool,
    pub(crate) compaction: AtomicBool,
    /// Once.
    pub(crate) stop: AtomicBool,
}

impl HookRunner for Hooks {
    fn run<'a>(&'a self, input: &'a HookInput, _: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        let objects = match &input.call {
            HookCall::UserPromptSubmit { .. } => self.prompt.load(Ordering::SeqCst),
            HookCall::PreCompact { .. } => self.compaction.load(Ordering::SeqCst),
            HookCall::Stop { .. } => self.stop.swap(false, Ordering::SeqCst),
            _ => false,
        };
        let outcome = if objects { HookOutcome::blocked("Not like this.") } else { HookOutcome::default() };
        Box::pin(async move { outcome })
    }
}
