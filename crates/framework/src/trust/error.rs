//! Why trust is not given, or not known.

use std::io;
use std::path::{Path, PathBuf};

/// A decision about trust that cannot be read or made. Nothing counts as trusted then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file of decisions, or its folder, cannot be used.
    #[error("{} cannot be {action}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was to be done with it: `read`, `written`.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The file of decisions is not what robota wrote.
    #[error("{} cannot be understood: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no folder of the user to keep decisions in.
    #[error("decisions about trust cannot be kept: {reason}")]
    NoPlace {
        /// Why.
        reason: String,
    },
    /// The folder is none that may be trusted for good.
    #[error("{} is not trusted for good: {reason}", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The folder cannot be found.
    #[error("the folder {} cannot be used: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl TrustError {
    pub(super) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), action, source }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } => "make it a file that only you can read and write, or move it away",
            Self::Corrupt { .. } => {
                "correct it or move it away; without it no folder is trusted, and `robota trust` begins a new one"
            }
            Self::NoPlace { .. } => "set HOME or ROBOTA_HOME to a folder of yours outside of the project",
            Self::Refused { .. } => "go to the project itself, or pass --trust for one run",
            Self::Folder { .. } => "give a folder that exists and that you may read",
        }
    }
}

impl From<TrustError> for robota_core::Error {
    fn from(error: TrustError) -> Self {
        Self::new(robota_core::ErrorKind::Configuration, error.to_string())
            .with_hint(error.hint())
            .with_source(error)
    }
}
