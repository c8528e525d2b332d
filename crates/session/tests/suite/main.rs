//! Sessions as a host sees them: run, recorded, cut off, resumed.

mod crash;
mod durability;
mod half_done;
mod permission;
mod run;
mod scene;
mod store;
