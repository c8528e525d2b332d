//! Permissions: deny → ask → allow → mode, every verdict with its reason (design section 6).
//!
//! [`RuleSet`] tells how rules are read, [`PermissionPolicy::evaluate`] in which order they count.
//! `command` takes command lines apart: strictly for allow rules, which must cover every simple command,
//! and into whatever may be a command for deny and ask rules. Paths count as resolved for the former,
//! and by every name they have for the latter. Both match with `glob`, whose time is linear in the text.

mod call;
mod command;
mod confinement;
mod domain_pattern;
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
mod suggestion;

#[cfg(test)]
mod tests;

pub use confinement::CommandConfinement;
pub use mode::{InvalidMode, PermissionMode};
pub use policy::{Basis, Decision, PermissionPolicy, Verdict};
pub use protected::protected_name;
pub use reading::ReadingDenials;
pub use report::{CommandPart, CommandReport, PartState};
pub use rule::{InvalidRule, Rule};
pub use rule_set::RuleSet;
