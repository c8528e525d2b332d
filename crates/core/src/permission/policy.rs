//! The evaluation of a call against rules and mode.

use std::path::PathBuf;

use super::{PermissionMode, RuleSet};
use crate::{Access, ToolSpec};

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "hosts must handle every decision")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person decides; where there is none, it does not run.
    Ask,
    /// It does not run.
    Deny,
}

/// A decision with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// Why, for a person and for the model: the rule or the mode, and the part of the call it concerns.
    pub reason: String,
    /// The rule that decided, as written; `None` when the mode did.
    pub rule: Option<String>,
    /// The narrowest rule that would allow the call, where one can.
    pub allow_rule: Option<String>,
}

/// Rules, mode and the folders they refer to.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct PermissionPolicy {
    /// What happens where no rule decides.
    pub mode: PermissionMode,
    /// The rules in force.
    pub rules: RuleSet,
    /// The workspace root and additional directories, absolute and resolved; the first is the root
    /// that relative patterns refer to.
    pub roots: Vec<PathBuf>,
    /// The user's home folder, for `~/` patterns.
    pub home: Option<PathBuf>,
}

impl PermissionPolicy {
    /// Decides a call to the tool `spec` that would touch `access`.
    #[must_use]
    pub fn evaluate(&self, spec: &ToolSpec, access: &[Access]) -> Verdict {
        let _ = (spec, access);
        Verdict { decision: Decision::Ask, reason: String::new(), rule: None, allow_rule: None }
    }
}
