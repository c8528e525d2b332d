//! What hooks say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What all hooks of one event say together (facts sheet 2.7).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HookOutcome {
    /// A hook stops what was about to happen, for this reason (exit code 2, `decision: "block"`).
    pub block: Option<String>,
    /// A hook ends the turn, for this reason (`continue: false`, `stopReason`).
    pub stop: Option<String>,
    /// What hooks say about the permission of a call; the strictest of them.
    pub permission: Option<HookPermission>,
    /// The arguments a call shall have instead of the model's, as a JSON object (`updatedInput`).
    pub updated_input: Option<Value>,
    /// Text for the model.
    pub additional_context: Vec<String>,
    /// Text for the person.
    pub system_messages: Vec<String>,
    /// Hooks that did not do their work (not found, out of time, broken JSON): one sentence each, for a person.
    pub failures: Vec<String>,
}

/// What hooks say about the permission of a call (`permissionDecision`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HookPermission {
    /// What they decide.
    pub decision: HookDecision,
    /// Why, in the hook's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// A hook's decision about a call, from the weakest to the strongest: of several, the strongest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "gates must handle every decision")]
pub enum HookDecision {
    /// It runs without a question, unless a rule or protection says otherwise.
    Allow,
    /// A person is asked, even where a rule or the mode would let it run.
    Ask,
    /// It is held for whoever drives the session: a person is asked even where an earlier approval would let
    /// it run, and where nobody can be asked it does not run.
    Defer,
    /// It does not run.
    Deny,
}

impl HookPermission {
    /// A decision with its reason.
    #[must_use]
    pub fn new(decision: HookDecision, reason: Option<String>) -> Self {
        Self { decision, reason }
    }
}

impl HookOutcome {
    /// An outcome that stops what was about to happen.
    #[must_use]
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// An outcome that adds text for the model.
    #[must_use]
    pub fn context(text: impl Into<String>) -> Self {
        Self { additional_context: vec![text.into()], ..Self::default() }
    }

    /// An outcome that decides about a call.
    #[must_use]
    pub fn decided(decision: HookDecision, reason: impl Into<String>) -> Self {
        Self { permission: Some(HookPermission::new(decision, Some(reason.into()))), ..Self::default() }
    }

    /// True when no hook had anything to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
