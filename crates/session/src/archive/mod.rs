//! Stored sessions without running them: exported, imported, forked, migrated, renamed, tidied up, and read as
//! they were at an earlier turn.
//!
//! Everything here works on what a store keeps, calls no model and runs no tool. What changes a session
//! takes its lock first, so a session that is open elsewhere is never touched; what only reads it needs
//! none. Each function gives a report that says all a person should know, and serialises as JSON.

mod artifact;
mod artifact_log;
mod export;
mod fields;
mod fork;
mod gc;
mod import;
mod import_error;
mod imported_log;
mod migrate;
mod raw_object;
mod record;
mod rename;
mod restate;
mod rewind;
mod turns;

pub use artifact::{Artifact, parse_artifact};
pub use export::{ExportOptions, ExportReport, export};
pub use fork::{ForkOptions, ForkReport, fork};
pub use gc::{GcItem, GcKind, GcOptions, GcPlan, GcReport, apply_gc, plan_gc};
pub use import::{ImportId, ImportOptions, ImportReport, import, import_from};
pub use import_error::{ImportError, ImportErrorKind};
pub use migrate::{MigrationReport, migrate};
pub use rename::{RenameReport, rename};
pub use rewind::RewindReport;
pub(crate) use rewind::{RewindPoint, TurnEnds, rewind_to};
pub(crate) use turns::no_such_turn;
