//! A failure the model can act on.

use robota_core::ToolOutcome;

/// Why a call did not do what was asked: a sentence for the model and a stable code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    message: String,
    code: &'static str,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), code }
    }

    /// An operation of the file system that did not succeed: `cannot {action} {path}: {error}`.
    pub(crate) fn io(action: &str, path: &str, error: &std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => "not_found",
            std::io::ErrorKind::PermissionDenied => "no_permission",
            _ => "io_error",
        };
        Self::new(code, format!("cannot {action} {path}: {error}"))
    }

    /// The same failure, told with what led to it.
    pub(crate) fn after(self, story: &str) -> Self {
        Self { message: format!("{story}{}", self.message), ..self }
    }

    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled", "cancelled before it was done")
    }
}

impl From<Failure> for ToolOutcome {
    fn from(failure: Failure) -> Self {
        Self::failure(failure.message).with_error_code(failure.code)
    }
}
