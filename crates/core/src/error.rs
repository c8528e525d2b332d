//! The error of this crate.

use std::error::Error as StdError;
use std::fmt;

use crate::{FatalToolError, ProviderError, ProviderErrorKind};

/// What kind of failure ended a turn or a call into this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The model could not be called, or failed while answering.
    Provider(ProviderErrorKind),
    /// A tool met a failure that the model cannot act on.
    Tool,
    /// The log or a store could not be written or read.
    Storage,
    /// Something was set up wrongly.
    Configuration,
    /// A value is not valid.
    Validation,
    /// The context window needed room, and compaction could not make it.
    Compaction,
    /// The model gave no answer in the form that was asked for.
    StructuredOutput,
}

impl ErrorKind {
    /// The stable code of the error taxonomy (facts sheet 2.9).
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Provider(kind) => kind.code(),
            Self::Tool => "TOOL_EXECUTION_ERROR",
            Self::Storage => "STORAGE_ERROR",
            Self::Configuration => "CONFIGURATION_ERROR",
            Self::Validation => "VALIDATION_ERROR",
            Self::Compaction => "COMPACTION_ERROR",
            Self::StructuredOutput => "STRUCTURED_OUTPUT_ERROR",
        }
    }
}

/// Why a turn failed, in words for a person and facts for a program.
pub struct Error(Box<Details>);

struct Details {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `message` says what happened and where.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, message: message.into(), hint: None, source: None }))
    }

    /// The same error with advice on what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code of the failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The provider's failure behind this one, with status and request id.
    #[must_use]
    pub fn provider_error(&self) -> Option<&ProviderError> {
        self.0.source.as_deref().and_then(|source| source.downcast_ref())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        let hint = error.hint().map(str::to_owned);
        let mut wrapped = Self::new(ErrorKind::Provider(error.kind()), error.to_string());
        wrapped.0.hint = hint;
        wrapped.with_source(error)
    }
}

impl From<FatalToolError> for Error {
    fn from(error: FatalToolError) -> Self {
        Self::new(ErrorKind::Tool, error.to_string()).with_source(error)
    }
}
