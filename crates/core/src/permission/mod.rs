//! Permissions: deny → ask → allow → mode, every verdict with its reason (design section 6).
//!
//! [`RuleSet`] tells how rules are read, [`PermissionPolicy::evaluate`] in which order they count.
//! Allow rules go through `command` (one simple command or nothing) and the resolved path; deny and
//! ask rules through `command_pieces` (whatever may be a command) and every name a path has. Both
//! match with `glob`, whose time is linear in the text.

mod call;
mod command;
mod command_pattern;
mod command_pieces;
mod domain_pattern;
mod git;
mod glob;
mod matching;
mod mode;
mod mode_matrix;
mod name_pattern;
mod path_pattern;
mod place;
mod policy;
mod protected;
mod reading;
mod report;
mod rule;
mod rule_set;
mod sed;
mod suggestion;
mod wrapper;

#[cfg(test)]
mod tests;

pub use mode::{InvalidMode, PermissionMode};
pub use policy::{Basis, Decision, PermissionPolicy, Verdict};
pub use reading::ReadingDenials;
pub use report::{CommandPart, CommandReport, PartState};
pub use rule::{InvalidRule, Rule};
pub use rule_set::RuleSet;
