//! What a tool call comes to.

use std::error::Error as StdError;

use serde_json::Value;

use crate::Part;

/// The result of [`Tool::run`](super::Tool::run).
pub type ToolResult = Result<ToolOutcome, FatalToolError>;

/// What the model sees of a finished call, and what a program can read of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// Text for the model, not yet cut to the host's budget.
    pub content: String,
    /// The call failed; `content` says why and what to do instead.
    pub is_error: bool,
    /// Further parts for the model, such as images.
    pub parts: Vec<Part>,
    /// Facts for programs, in the result shape of facts sheet 3 without `output`:
    /// `exitCode`, `startLine`, `diff` and the like.
    pub structured: Option<Value>,
    /// Stable reason of a failure, such as `unknown_tool`, `permission_denied` or `hook_blocked`.
    pub error_code: Option<&'static str>,
}

impl ToolOutcome {
    /// A success with `content` for the model.
    #[must_use]
    pub fn success(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// A failure the model can act on.
    #[must_use]
    pub fn failure(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, ..Self::default() }
    }

    /// The same outcome with facts for programs.
    #[must_use]
    pub fn with_structured(mut self, structured: Value) -> Self {
        self.structured = Some(structured);
        self
    }

    /// The same outcome with a stable failure code.
    #[must_use]
    pub fn with_error_code(mut self, code: &'static str) -> Self {
        self.error_code = Some(code);
        self
    }

    /// The same outcome with a further part for the model.
    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

/// A failure that stops the turn: the tool's world is broken, and the model cannot help.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct FatalToolError {
    message: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl FatalToolError {
    /// A failure described by one sentence for a person.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same failure with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
