//! Permissions: deny → ask → allow → mode, every verdict with its reason (design section 6).

mod mode;
mod policy;
mod rule;

pub use mode::{InvalidMode, PermissionMode};
pub use policy::{Decision, PermissionPolicy, Verdict};
pub use rule::{InvalidRule, Rule, RuleSet};
