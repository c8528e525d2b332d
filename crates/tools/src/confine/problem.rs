//! Why a helper could not confine itself.

use std::io;

/// What could not be done, and what the system said.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {source}")]
pub(super) struct Problem {
    doing: String,
    source: io::Error,
}

impl Problem {
    pub(super) fn new(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self { doing: doing.into(), source: source.into() }
    }

    /// Something that is not an answer of the system.
    pub(super) fn because(doing: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { doing: doing.into(), source: io::Error::other(reason.into()) }
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

pub(super) trait Doing<T> {
    /// Says what was tried.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Problem>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Problem> {
        self.map_err(|source| Problem::new(doing(), source))
    }
}
