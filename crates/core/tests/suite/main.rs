//! The engine against a scripted provider.

mod bench;
mod engine;
mod limits;
mod tool_batches;
