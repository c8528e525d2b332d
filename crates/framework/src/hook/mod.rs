//! Hooks that need a model: what runs the types `prompt` and `agent` (seed `001`, Hook Type Executors).

mod agent;
mod judgement;
mod prompt;

pub(crate) use agent::AgentHook;
pub(crate) use prompt::PromptHook;
