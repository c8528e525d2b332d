//! The bench the engine is tested on: a scripted model, a recorder, and tools a test can hold.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use robota_core::{
    Access, Agent, AgentConfig, DynTool, EventSink, FatalToolError, History, Message, NoHost, RawCapture,
    Tool, ToolClass, ToolContext, ToolGate, ToolOutcome, ToolResult, ToolSpec, Turn, TurnHost, TurnReport,
    erase,
};
use robota_testkit::{AllowAll, EventRecorder, Gate, Script, ScriptedProvider, fixed_ambient};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

pub(crate) struct Bench {
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) recorder: Arc<EventRecorder>,
    pub(crate) history: Mutex<History>,
    pub(crate) cancel: CancellationToken,
    pub(crate) config: AgentConfig,
    pub(crate) gate: Arc<dyn ToolGate>,
    pub(crate) host: Arc<dyn TurnHost>,
}

impl Bench {
    pub(crate) fn new(script: Script) -> Self {
        let provider = Arc::new(ScriptedProvider::new(script));
        let config = AgentConfig {
            provider: provider.clone(),
            model: "test-model".into(),
            system: "You are a test.".into(),
            tools: Vec::new(),
            max_rounds: 0,
            context_window: 200_000,
            max_output_tokens: None,
            output_budget: 30_000,
            spill: None,
            tuning: robota_core::RequestTuning::default(),
            idle_timeout: None,
            raw_capture: RawCapture::Off,
            ambient: fixed_ambient(),
        };
        Self {
            provider,
            recorder: Arc::new(EventRecorder::new()),
            history: Mutex::default(),
            cancel: CancellationToken::new(),
            config,
            gate: Arc::new(AllowAll),
            host: Arc::new(NoHost),
        }
    }

    pub(crate) fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn DynTool>>) -> Self {
        self.config.tools = tools.into_iter().collect();
        self
    }

    pub(crate) async fn run(&self, prompt: &str) -> TurnReport {
        let ambient = &self.config.ambient;
        self.run_message(Message::user(ambient.next_id(), ambient.now(), prompt)).await
    }

    pub(crate) async fn run_message(&self, prompt: Message) -> TurnReport {
        let sink: Arc<dyn EventSink> = self.recorder.clone();
        let turn = Turn {
            history: &self.history,
            prompt,
            response_format: None,
            sink: &sink,
            gate: self.gate.as_ref(),
            cancel: &self.cancel,
            host: self.host.as_ref(),
        };
        let report = Agent::new(self.config.clone()).run_turn(turn).await;
        self.provider.assert_clean();
        report
    }

    /// `role: text`, with `!` behind the role of a failed result and `~` behind that of a cut answer.
    pub(crate) fn transcript(&self) -> Vec<String> {
        let history = self.history.lock().unwrap();
        let line = |message: &robota_core::MessageRef| {
            let json = serde_json::to_value(message).unwrap();
            let failed = if json["isError"] == true { "!" } else { "" };
            let cut = if json["state"] == "interrupted" { "~" } else { "" };
            let calls: Vec<_> = message.tool_calls().iter().map(|call| call.name.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!(" [{}]", calls.join(" ")) };
            format!("{}{failed}{cut}: {}{calls}", message.role(), message.text())
        };
        history.messages().iter().map(line).collect()
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Word {
    #[serde(default)]
    word: String,
}

/// Says its word again; may wait at a gate, and counts how many of its calls run at once.
pub(crate) struct Echo {
    name: &'static str,
    parallel: bool,
    hold: Option<Gate>,
    running: AtomicUsize,
    pub(crate) most: Arc<AtomicUsize>,
}

impl Echo {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, parallel: false, hold: None, running: AtomicUsize::new(0), most: Arc::default() }
    }

    pub(crate) fn parallel(mut self) -> Self {
        self.parallel = true;
        self
    }

    pub(crate) fn hold_at(mut self, gate: Gate) -> Self {
        self.hold = Some(gate);
        self
    }
}

impl Tool for Echo {
    type Input = Word;

    fn describe(&self) -> ToolSpec {
        let spec = ToolSpec::new(self.name, ToolClass::Inspect, "Says the word again.");
        if self.parallel { spec.read_only() } else { spec }
    }

    fn access(&self, _: &Word) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, input: Word, context: ToolContext) -> ToolResult {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        context.progress("working");
        let outcome = match &self.hold {
            Some(gate) => tokio::select! {
                () = gate.pass() => ToolOutcome::success(input.word),
                () = context.cancel.cancelled() => ToolOutcome::failure("stopped by the interrupt"),
            },
            None => ToolOutcome::success(input.word),
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(outcome)
    }
}

/// Breaks in the way its word says.
pub(crate) struct Broken;

impl Tool for Broken {
    type Input = Word;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new("Broken", ToolClass::Other, "Breaks.")
    }

    fn access(&self, _: &Word) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, input: Word, _: ToolContext) -> ToolResult {
        assert!(input.word != "panic", "as asked");
        Err(FatalToolError::new("the disk is gone"))
    }
}

/// Fails for good, beside others.
pub(crate) struct Gone;

impl Tool for Gone {
    type Input = Word;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new("Gone", ToolClass::Inspect, "Is gone.").read_only()
    }

    fn access(&self, _: &Word) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, _: Word, _: ToolContext) -> ToolResult {
        Err(FatalToolError::new("the disk is gone"))
    }
}

pub(crate) fn echo(name: &'static str) -> Arc<dyn DynTool> {
    erase(Echo::new(name))
}
