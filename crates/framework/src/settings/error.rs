//! Why a settings file cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// A settings file that stops the start.
///
/// A file that cannot be understood is never read as an empty one: that could drop the rules that
/// protect the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file exists but cannot be read.
    #[error("the settings file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The path is a folder or a device.
    #[error("the settings file {} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than any settings file should be.
    #[error("the settings file {} has {size} bytes; at most {limit} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not UTF-8 text.
    #[error("{}:{line}:{column}: the settings file is not UTF-8 text", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Line of the first invalid byte, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
    },
    /// The file is not JSON.
    #[error("{}:{line}:{column}: not valid JSON: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line of the offending character, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A known key has a value that cannot be used.
    #[error("{}:{line}:{column}: `{key}` is {found}; expected {expected}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Line of the value, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// The key, with the keys around it: `permissions.allow[2]`.
        key: String,
        /// The value, or what kind of value it is when it is long or secret.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// What stands under a known key cannot be used, for a reason of its own.
    #[error("{}:{line}:{column}: `{key}`: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Line of the value, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// The key, with the keys around it: `hooks.PreToolUse[0].hooks[1]`.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A key is given twice, so that one of its values would be lost.
    #[error("{}:{line}:{column}: `{key}` is given twice; join the two", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// Line of the second value, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// The key, with the keys around it.
        key: String,
    },
}

impl SettingsError {
    /// The file at fault.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Unreadable { path, .. }
            | Self::NotAFile { path }
            | Self::TooLarge { path, .. }
            | Self::NotUtf8 { path, .. }
            | Self::Syntax { path, .. }
            | Self::Value { path, .. }
            | Self::Wrong { path, .. }
            | Self::Duplicate { path, .. } => path,
        }
    }

    /// Line and column of the fault, from 1, where there is one place.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        match *self {
            Self::NotUtf8 { line, column, .. }
            | Self::Syntax { line, column, .. }
            | Self::Value { line, column, .. }
            | Self::Wrong { line, column, .. }
            | Self::Duplicate { line, column, .. } => Some((line, column)),
            _ => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        format!("correct {} or move it away; nothing was started", self.path().display())
    }
}

impl From<SettingsError> for robota_core::Error {
    fn from(error: SettingsError) -> Self {
        Self::new(robota_core::ErrorKind::Configuration, error.to_string())
            .with_hint(error.hint())
            .with_source(error)
    }
}
