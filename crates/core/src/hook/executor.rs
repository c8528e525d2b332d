//! The port through which hooks are run.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{HookAction, HookInput};

/// Runs hooks of one type.
///
/// The engine holds it to the hook's deadline: it drops the future then, which must leave nothing running. When
/// the token fires, it has three seconds to end by itself.
pub trait HookExecutor: Send + Sync {
    /// Runs one hook.
    ///
    /// # Errors
    ///
    /// When it cannot be run or does not do its work: what became of the hook, such as "was not found", to be
    /// put behind its name.
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>>;
}

/// One run of a hook.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookTask<'a> {
    /// What it does.
    pub action: &'a HookAction,
    /// What it is told.
    pub input: &'a HookInput,
    /// The same as JSON.
    pub json: &'a str,
    /// Variables of its group.
    pub env: &'a BTreeMap<String, String>,
}

impl<'a> HookTask<'a> {
    /// One run of a hook.
    #[must_use]
    pub fn new(
        action: &'a HookAction,
        input: &'a HookInput,
        json: &'a str,
        env: &'a BTreeMap<String, String>,
    ) -> Self {
        Self { action, input, json, env }
    }
}

/// What one hook said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookReply {
    /// A program ended, or a server answered with success, which counts as code 0.
    Output {
        /// The exit code.
        code: i32,
        /// Standard output: JSON, or text.
        stdout: String,
        /// Standard error: the reason, with code 2.
        stderr: String,
    },
    /// A model has judged.
    Judgement {
        /// Whether it agrees with what happens.
        ok: bool,
        /// Why not.
        reason: String,
    },
    /// Text for the model.
    Context(String),
}

/// A hook that did not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct HookFailure {
    /// What became of the hook, for a person: "was not found".
    pub message: String,
    /// What lies behind it.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl HookFailure {
    /// A failure without a cause below it.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same with what lies behind it.
    #[must_use]
    pub fn because(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}
