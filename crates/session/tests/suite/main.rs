//! Sessions as a host sees them: run, recorded, cut off, resumed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod always_sendable;
mod archive;
mod cases;
mod compaction;
mod conformance;
mod conversation;
mod corruption;
mod crash;
mod disk_failures;
mod durability;
mod expand;
mod half_done;
mod handover;
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
mod rerun_compaction;
mod run;
mod run_again;
mod scene;
mod snapshots;
mod store;
mod structured;
mod tool_hooks;
mod tuning;
mod two_processes;
mod validate;
mod wrapped_store;
