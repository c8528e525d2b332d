//! The engine: a turn is a loop of rounds, each one model call and the tool calls it asks for,
//! each of which passes the [`ToolGate`].

mod answer;
mod batch;
mod call;
mod gate;
mod host;
mod model_call;
mod output_budget;
mod raw_payloads;
mod request;
mod tuning;
mod turn;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use gate::{After, Authorization, Before, EndedCall, GateRequest, ToolGate};
pub use host::{NoHost, Pressure, TurnHost};
pub use raw_payloads::RawPayloads;
pub use request::sendable;
pub use tuning::RequestTuning;
pub use turn::last_words_message;

use crate::context::ContextWindow;
use crate::message_size::json_bytes;
use crate::{
    Ambient, ContextState, DynTool, Error, EventSink, History, Message, MessageRef, ModelRequest,
    OutputSpill, Provider, RawCapture, ResponseFormat, ToolChoice, ToolSpec, TurnEnd, Usage, text_bytes,
};

/// What an agent is made of.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct AgentConfig {
    /// The model API.
    pub provider: Arc<dyn Provider>,
    /// Model id.
    pub model: Arc<str>,
    /// System prompt, frozen between compactions.
    pub system: Arc<str>,
    /// Tools, in the order the model sees them.
    pub tools: Vec<Arc<dyn DynTool>>,
    /// Most model calls in one turn; 0 for no limit. The closing call after the last round is not counted.
    pub max_rounds: u32,
    /// Size of the model's context window, in tokens; 0 when unknown, which switches the guards off.
    pub context_window: u64,
    /// Most output tokens of one model call; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Most characters of one tool result; longer ones lose their middle. 0 for no limit.
    pub output_budget: usize,
    /// Where tool output is kept that is cut to the budget.
    pub spill: Option<Arc<dyn OutputSpill>>,
    /// How much the model thinks, and the form of its answers.
    pub tuning: RequestTuning,
    /// How long a model server may send nothing at all; `None` leaves it to the provider.
    pub idle_timeout: Option<Duration>,
    /// Which native payloads of the provider are recorded.
    pub raw_capture: RawCapture,
    /// Time and ids.
    pub ambient: Ambient,
}

/// What one turn works on.
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct Turn<'a> {
    /// The history; locked only for the moment of an append.
    pub history: &'a Mutex<History>,
    /// The user's message.
    pub prompt: Message,
    /// The form its answers have to have, in the place of [`RequestTuning::response_format`]; not asked for in last
    /// words.
    pub response_format: Option<ResponseFormat>,
    /// Where events go.
    pub sink: &'a Arc<dyn EventSink>,
    /// Who stands around every tool call, and decides whether it may run.
    pub gate: &'a dyn ToolGate,
    /// Fires when the turn is aborted.
    pub cancel: &'a CancellationToken,
    /// What the owner of the turn does for it; [`NoHost`] for nothing.
    pub host: &'a dyn TurnHost,
}

/// What a turn came to. The history is sendable whatever the outcome.
#[derive(Debug)]
#[non_exhaustive]
pub struct TurnReport {
    /// How the turn ended, or why it failed.
    pub outcome: Result<TurnEnd, Error>,
    /// The last visible text of the model; what had been streamed, after an abort or a failure.
    pub text: String,
    /// Model calls made.
    pub rounds: u32,
    /// Tokens of all calls.
    pub usage: Usage,
    /// Time spent waiting for the model, in milliseconds.
    pub api_duration_ms: u64,
}

impl TurnReport {
    /// The report of a turn that came to its end, with `text` to show for it, before any model was called.
    #[must_use]
    pub fn without_model(outcome: Result<TurnEnd, Error>, text: String) -> Self {
        Self { outcome, text, rounds: 0, usage: Usage::default(), api_duration_ms: 0 }
    }
}

/// The engine of a session: provider, tools and limits, without any state of a conversation.
///
/// One agent may serve many turns, and many conversations, at once.
pub struct Agent {
    config: AgentConfig,
    specs: Arc<[Arc<ToolSpec>]>,
    window: ContextWindow,
}

impl Agent {
    /// An agent of these parts.
    #[must_use]
    pub fn new(config: AgentConfig) -> Self {
        let specs: Arc<[Arc<ToolSpec>]> = config.tools.iter().map(|tool| Arc::clone(tool.spec())).collect();
        let fixed_bytes = text_bytes(&config.system).saturating_add(json_bytes(&specs));
        let window = ContextWindow::new(config.context_window, fixed_bytes);
        Self { config, specs, window }
    }

    /// The parts.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Specs of the tools, in the order the model sees them.
    #[must_use]
    pub fn tool_specs(&self) -> &Arc<[Arc<ToolSpec>]> {
        &self.specs
    }

    /// How full the context window is with `history` in it.
    #[must_use]
    pub fn context_state(&self, history: &History) -> ContextState {
        self.window.state(history)
    }

    /// How full the context window would be with a message of `bytes` more, as they are estimated
    /// ([`text_bytes`]), in `history`.
    #[must_use]
    pub fn context_state_with(&self, history: &History, bytes: u64) -> ContextState {
        self.window.state_with(history, bytes)
    }

    /// A request of this agent that sends `messages`: with its model, prompt, tools and limits.
    #[must_use]
    pub fn request(&self, messages: Vec<MessageRef>, tool_choice: ToolChoice) -> ModelRequest {
        let mut request = ModelRequest::new(Arc::clone(&self.config.model), messages);
        request.system = Arc::clone(&self.config.system);
        request.tools = Arc::clone(&self.specs);
        request.tool_choice = tool_choice;
        request.max_output_tokens = self.config.max_output_tokens;
        self.config.tuning.apply(&mut request);
        request.idle_timeout = self.config.idle_timeout;
        request.raw_capture = self.config.raw_capture;
        request
    }

    /// Runs one turn: adds the prompt to the history, then calls the model and the tools it asks
    /// for until it has finished, the rounds run out, the window is full, or the turn is aborted.
    ///
    /// Emits every event from the prompt's history mutation to the last one of the last round; the
    /// closing events of a turn (`error`, `interrupted`, `complete`) are its owner's.
    pub async fn run_turn(&self, turn: Turn<'_>) -> TurnReport {
        self.drive(&turn).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("model", &self.config.model).finish_non_exhaustive()
    }
}
