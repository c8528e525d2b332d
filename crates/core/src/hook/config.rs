//! Which hooks there are, and when they run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{HookEvent, HookMatcher};

/// The hooks of a session, joined over all layers: no layer takes one away.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts join")]
pub struct HooksConfig {
    /// Groups in the order of their layers, lowest first.
    pub groups: Vec<HookGroup>,
}

impl HooksConfig {
    /// The hooks of several layers, given lowest first. Nothing is ever dropped; what two layers both write
    /// runs once.
    #[must_use]
    pub fn join(layers: impl IntoIterator<Item = Self>) -> Self {
        Self { groups: layers.into_iter().flat_map(|layer| layer.groups).collect() }
    }
}

/// Hooks that run together when an event happens that their matcher fits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HookGroup {
    /// The event.
    pub event: HookEvent,
    /// Which of its occurrences.
    pub matcher: HookMatcher,
    /// What runs.
    pub hooks: Vec<HookSpec>,
    /// Variables that command hooks of the group are given.
    pub env: BTreeMap<String, String>,
    /// Where it is written.
    pub origin: HookOrigin,
}

impl HookGroup {
    /// Hooks for the occurrences of `event` that `matcher` fits, without variables of their own.
    #[must_use]
    pub fn new(event: HookEvent, matcher: HookMatcher, hooks: Vec<HookSpec>, origin: HookOrigin) -> Self {
        Self { event, matcher, hooks, env: BTreeMap::new(), origin }
    }
}

/// Where hooks are written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data that hosts build")]
pub struct HookOrigin {
    /// The place, for a person, such as a file.
    pub place: String,
    /// Whose word it is.
    pub scope: HookScope,
}

/// Whose hooks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookScope {
    /// The user's own, or the host's.
    User,
    /// A project's, which the user trusts.
    Project,
}

/// One hook.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HookSpec {
    /// What it does.
    pub action: HookAction,
    /// How long it may take.
    pub timeout: Duration,
}

impl HookSpec {
    /// A hook that may take `timeout`.
    #[must_use]
    pub fn new(action: HookAction, timeout: Duration) -> Self {
        Self { action, timeout }
    }
}

/// What a hook does (facts sheet 2.7, seed `001`, Hook Type Executors).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookAction {
    /// Runs a shell command, with the input on its standard input.
    Command {
        /// The command line.
        command: String,
    },
    /// Posts the input as JSON.
    Http {
        /// Where to.
        url: String,
        /// Headers, with `$NAME` and `${NAME}` for variables of [`allowed_variables`](Self::Http::allowed_variables).
        headers: BTreeMap<String, String>,
        /// Variables that headers may name.
        allowed_variables: Vec<String>,
    },
    /// Puts a text before the model: as context where the event takes some, as a question it answers elsewhere.
    Prompt {
        /// The text; `$ARGUMENTS` stands for the input.
        prompt: String,
        /// The model that answers; the session's when `None`.
        model: Option<String>,
    },
    /// Lets an agent of its own look at the input and say what it makes of it.
    Agent {
        /// Its task; `$ARGUMENTS` stands for the input.
        prompt: String,
        /// Its model; the session's when `None`.
        model: Option<String>,
        /// Most model calls.
        max_turns: u32,
    },
}
