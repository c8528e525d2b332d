//! What a host asked for that a session cannot be made of.

use std::io;
use std::path::PathBuf;

use robota_core::{InvalidMode, InvalidRule};
use robota_tools::NotAHost;

/// A flag or variable that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssemblyError {
    /// A rule on the command line cannot be understood.
    #[error(transparent)]
    Rule(#[from] InvalidRule),
    /// `ROBOTA_PERMISSION_MODE` is no mode.
    #[error("ROBOTA_PERMISSION_MODE: {0}")]
    Mode(#[from] InvalidMode),
    /// The mode `bypassPermissions` was asked for, and settings switch it off.
    #[error("the mode bypassPermissions is switched off by {place}")]
    BypassDisabled {
        /// File and line.
        place: String,
    },
    /// An entry of the setting `web.allowedHosts` is no host.
    #[error("web.allowedHosts: {0}")]
    Host(#[from] NotAHost),
    /// An additional folder cannot be used.
    #[error("the additional folder {} cannot be used: {source}", path.display())]
    Folder {
        /// The folder as given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl AssemblyError {
    /// Whether environment or settings are at fault and not the command line.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Mode(_) | Self::BypassDisabled { .. } | Self::Host(_) => true,
            Self::Rule(_) | Self::Folder { .. } => false,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Rule(_) => {
                "write rules as `Tool` or `Tool(pattern)`, such as `Bash(git status)` or `Read(src/**)`"
            }
            Self::Mode(_) => "correct the variable or unset it",
            Self::BypassDisabled { .. } => "ask for another mode; rules can allow what you need",
            Self::Host(_) => "write hosts as `host` or `host:port`",
            Self::Folder { .. } => "give a folder that exists and that you may read",
        }
    }
}

impl From<AssemblyError> for robota_core::Error {
    fn from(error: AssemblyError) -> Self {
        Self::new(robota_core::ErrorKind::Configuration, error.to_string())
            .with_hint(error.hint())
            .with_source(error)
    }
}
