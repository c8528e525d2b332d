//! The engine against a scripted provider.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod aborts;
mod bench;
mod commands_in_bash;
mod commands_in_brush;
mod engine;
mod estimate;
mod hooks;
mod limits;
mod random_commands;
mod tool_batches;
mod tool_gate;
mod tool_output;
