//! The engine: a turn is a loop of rounds, each one model call and the tool calls it asks for.

mod gate;

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

pub use gate::{Authorization, GateRequest, ToolGate};

use crate::{Ambient, DynTool, Error, EventSink, History, Message, Provider, TurnEnd, Usage};

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
    /// Most model calls in one turn; 0 for no limit.
    pub max_rounds: u32,
    /// Size of the model's context window, in tokens.
    pub context_window: u64,
    /// Most output tokens of one model call; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Most characters of one tool result; longer ones lose their middle.
    pub output_budget: usize,
    /// Time and ids.
    pub ambient: Ambient,
}

/// What one turn works on.
pub struct Turn<'a> {
    /// The history; locked only for the moment of an append.
    pub history: &'a Mutex<History>,
    /// The user's message.
    pub prompt: Message,
    /// Where events go.
    pub sink: &'a dyn EventSink,
    /// Who decides whether a call may run.
    pub gate: &'a dyn ToolGate,
    /// Fires when the turn is aborted.
    pub cancel: &'a CancellationToken,
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

/// The engine of a session: provider, tools and limits, without any state of a conversation.
pub struct Agent {
    config: AgentConfig,
}

impl Agent {
    /// An agent of these parts.
    #[must_use]
    pub fn new(config: AgentConfig) -> Self {
        Self { config }
    }

    /// The parts.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Runs one turn: adds the prompt to the history, then calls the model and the tools it asks
    /// for until it has finished.
    pub async fn run_turn(&self, turn: Turn<'_>) -> TurnReport {
        let _ = turn;
        TurnReport {
            outcome: Ok(TurnEnd::Completed),
            text: String::new(),
            rounds: 0,
            usage: Usage::default(),
            api_duration_ms: 0,
        }
    }
}
