//! What can go wrong with a sandbox.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// An operation of a sandbox that did not succeed.
///
/// Its text says what was attempted, where, and why it failed; [`SandboxError::hint`] says what to do.
pub struct SandboxError {
    details: Box<Details>,
}

struct Details {
    kind: SandboxErrorKind,
    message: String,
    hint: Option<String>,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SandboxErrorKind {
    /// There is nothing at the path, or no such sandbox or snapshot.
    NotFound,
    /// Something is there already and is not overwritten.
    AlreadyExists,
    /// The sandbox, its operating system or the permissions of its manifest do not allow it.
    NotPermitted,
    /// The path leads out of the sandbox's folder or cannot be a path.
    InvalidPath,
    /// It is a folder where a file is needed, or the other way round.
    WrongKind,
    /// The manifest cannot be applied as it is written.
    InvalidManifest,
    /// This sandbox cannot do it.
    Unsupported,
    /// Larger than what is held in memory.
    TooLarge,
    /// Its time was up.
    Timeout,
    /// The caller cancelled.
    Cancelled,
    /// The provider did not accept the key.
    Unauthorized,
    /// The provider wants fewer requests.
    RateLimited,
    /// The sandbox could not be reached, or the connection broke.
    Transport,
    /// The sandbox answered what its protocol does not allow.
    Protocol,
    /// Anything else that failed inside, such as a full disk.
    Failed,
}

impl SandboxErrorKind {
    /// A stable name for logs and telemetry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::NotPermitted => "not_permitted",
            Self::InvalidPath => "invalid_path",
            Self::WrongKind => "wrong_kind",
            Self::InvalidManifest => "invalid_manifest",
            Self::Unsupported => "unsupported",
            Self::TooLarge => "too_large",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::Transport => "transport",
            Self::Protocol => "protocol",
            Self::Failed => "failed",
        }
    }

    fn as_io(self) -> io::ErrorKind {
        match self {
            Self::NotFound => io::ErrorKind::NotFound,
            Self::AlreadyExists => io::ErrorKind::AlreadyExists,
            Self::NotPermitted | Self::Unauthorized => io::ErrorKind::PermissionDenied,
            Self::InvalidPath | Self::InvalidManifest => io::ErrorKind::InvalidInput,
            Self::Unsupported => io::ErrorKind::Unsupported,
            Self::TooLarge => io::ErrorKind::FileTooLarge,
            Self::Timeout => io::ErrorKind::TimedOut,
            Self::Cancelled => io::ErrorKind::Interrupted,
            Self::Transport => io::ErrorKind::ConnectionAborted,
            Self::Protocol => io::ErrorKind::InvalidData,
            Self::WrongKind | Self::RateLimited | Self::Failed => io::ErrorKind::Other,
        }
    }
}

impl SandboxError {
    /// A failure of `kind` with a sentence for a person.
    #[must_use]
    pub fn new(kind: SandboxErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { details: Box::new(Details { kind, message, hint: None, retry_after: None, source: None }) }
    }

    /// The same with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.details.source = Some(source.into());
        self
    }

    /// The same with what a person can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.details.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.details.retry_after = wait;
        self
    }

    /// The same, told with what came of it.
    pub(crate) fn and_then(mut self, story: &str) -> Self {
        self.details.message.push_str(story);
        self
    }

    /// The same without `secret`, which a server may have repeated.
    pub(crate) fn without(mut self, secret: &str) -> Self {
        if !secret.is_empty() && self.details.message.contains(secret) {
            self.details.message = self.details.message.replace(secret, "***");
        }
        self
    }

    /// An operation of this machine's file system that failed: `cannot {action} {path}: {error}`.
    pub(crate) fn io(action: &str, path: &Path, error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => SandboxErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => SandboxErrorKind::AlreadyExists,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                SandboxErrorKind::NotPermitted
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => SandboxErrorKind::InvalidPath,
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => SandboxErrorKind::WrongKind,
            io::ErrorKind::FileTooLarge => SandboxErrorKind::TooLarge,
            _ if crate::files::exact::is_link_error(&error) => SandboxErrorKind::NotPermitted,
            _ => SandboxErrorKind::Failed,
        };
        Self::new(kind, format!("cannot {action} {}: {error}", path.display())).with_source(error)
    }

    pub(crate) fn not_found(path: &Path) -> Self {
        Self::new(SandboxErrorKind::NotFound, format!("there is nothing at {}", path.display()))
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(SandboxErrorKind::Cancelled, "cancelled before it was done")
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> SandboxErrorKind {
        self.details.kind
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.details.hint.as_deref()
    }

    /// Whether the same operation may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            SandboxErrorKind::RateLimited | SandboxErrorKind::Transport | SandboxErrorKind::Timeout
        )
    }

    /// How long the provider wants to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.details.retry_after
    }

    /// As an error of a file system, which the file tools know.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::new(self.kind().as_io(), self)
    }
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.details.message)?;
        match &self.details.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxError")
            .field("kind", &self.details.kind)
            .field("message", &self.details.message)
            .field("source", &self.details.source)
            .finish_non_exhaustive()
    }
}

impl StdError for SandboxError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.details.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
