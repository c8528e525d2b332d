//! Sessions as a host sees them: run, recorded, cut off, resumed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod crash;
mod durability;
mod half_done;
#[cfg(unix)]
mod hostile;
mod listing;
mod mutations;
mod payload_damage;
mod payloads;
mod permission;
mod replay;
mod run;
mod scene;
mod snapshots;
mod store;
