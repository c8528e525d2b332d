//! Why something is not an artifact that can be imported.

use std::fmt;

use crate::printable::printable;
use crate::{Error, ErrorKind};

/// Longest piece of the input that a message repeats, in characters.
const SHOWN: usize = 80;

/// What is wrong with an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImportErrorKind {
    /// It is no JSON.
    Syntax,
    /// It is JSON of another format.
    OtherFormat,
    /// It is of a version that this program does not know.
    NewerVersion,
    /// A field does not hold what it must.
    InvalidField,
    /// It is larger than allowed.
    TooLarge,
}

/// Why an artifact is refused: which field, what was expected there, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    kind: ImportErrorKind,
    field: String,
    expected: String,
    found: String,
}

impl ImportError {
    pub(super) fn new(
        kind: ImportErrorKind,
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl fmt::Display,
    ) -> Self {
        let found = printable(&found.to_string());
        let found = match found.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", found.get(..end).unwrap_or_default()),
            None => found,
        };
        Self { kind, field: printable(&field.into()), expected: expected.into(), found }
    }

    /// A field that does not hold what it must.
    pub(super) fn field(
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl fmt::Display,
    ) -> Self {
        Self::new(ImportErrorKind::InvalidField, field, expected, found)
    }

    /// What kind of fault it is.
    #[must_use]
    pub const fn kind(&self) -> ImportErrorKind {
        self.kind
    }

    /// Path of the field, such as `record.messages[3].role`; empty for the artifact as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.field
    }

    /// What was expected there.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What was found there.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, expected, found, .. } = self;
        f.write_str("this cannot be imported: ")?;
        if !field.is_empty() {
            write!(f, "`{field}`: ")?;
        }
        write!(f, "expected {expected}, found {found}")
    }
}

impl std::error::Error for ImportError {}

impl From<ImportError> for Error {
    fn from(error: ImportError) -> Self {
        let hint = match error.kind {
            ImportErrorKind::Syntax | ImportErrorKind::OtherFormat => {
                "give a file that `robota session export` wrote"
            }
            ImportErrorKind::NewerVersion => {
                "import it with the version of robota that wrote it, or a later one"
            }
            ImportErrorKind::InvalidField => {
                "mend the field, or export the session again; nothing was imported"
            }
            ImportErrorKind::TooLarge => "allow a larger artifact, or export the session without its log",
        };
        Self::new(ErrorKind::InvalidArtifact, error.to_string()).with_hint(hint).with_source(error)
    }
}
