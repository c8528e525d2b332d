//! Sessions as a host sees them: run, recorded, cut off, resumed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod archive;
mod compaction;
mod conformance;
mod conversation;
mod crash;
mod durability;
mod expand;
mod half_done;
#[cfg(unix)]
mod hostile;
mod lifecycle;
mod listing;
mod misnumbered;
mod mutations;
mod payload_damage;
mod payloads;
mod permission;
mod random_events;
mod recorded;
mod replay;
mod run;
mod scene;
mod snapshots;
mod store;
mod validate;
