//! Starting a program in confinement.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::os::fd::OwnedFd;

use super::CommandLine;

/// Confines programs, such as by a sandbox of the operating system.
pub trait Confine: fmt::Debug + Send + Sync {
    /// What to start in the place of `command`, so that it runs confined.
    ///
    /// # Errors
    ///
    /// When it cannot be confined as demanded; it must then not run at all.
    fn confine(&self, command: CommandLine) -> Result<Confined, ConfineError>;

    /// Whether this command will run confined at all. What does not must have no need of files that confined
    /// programs can change.
    fn confines(&self, _: &CommandLine) -> bool {
        true
    }
}

/// A program as it is started in confinement.
#[expect(clippy::exhaustive_structs, reason = "a plain record that adapters write out")]
pub struct Confined {
    /// What to start.
    pub command: CommandLine,
    /// Its standard input while it confines itself; the confined program itself reads nothing from it.
    pub stdin: Option<OwnedFd>,
    /// Dropped when the program and everything it started have ended.
    pub keep: Option<Box<dyn Any + Send>>,
    /// Asked once when the program has ended: whether it ran at all, or what it was to run in could not be made.
    pub verdict: Option<Verdict>,
}

/// Tells after the end of a program whether it was confined.
pub type Verdict = Box<dyn FnOnce() -> Result<(), ConfineError> + Send>;

impl Confined {
    /// `command` as `confinement` starts it, or as it is where there is none.
    pub(super) fn by(confinement: Option<&dyn Confine>, command: CommandLine) -> Result<Self, ConfineError> {
        match confinement {
            Some(confinement) => confinement.confine(command),
            None => Ok(Self::plain(command)),
        }
    }

    /// A program that needs nothing else.
    #[must_use]
    pub fn plain(command: CommandLine) -> Self {
        Self { command, stdin: None, keep: None, verdict: None }
    }
}

impl fmt::Debug for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confined").field("program", &self.command.program).finish_non_exhaustive()
    }
}

/// A program that cannot be confined.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ConfineError {
    message: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ConfineError {
    /// Why, in a sentence for a person.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
