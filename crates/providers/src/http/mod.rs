//! HTTP as all providers use it: one POST, answered by a stream of events.

mod client;
mod exchange;
mod frames;
mod idle;
mod wait;

pub(crate) use client::LazyClient;
pub(crate) use exchange::{Answer, Exchange};
pub(crate) use frames::{FrameFault, Frames};
