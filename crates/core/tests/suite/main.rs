//! The engine against a scripted provider.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod aborts;
mod bench;
mod engine;
mod hooks;
mod limits;
mod tool_batches;
