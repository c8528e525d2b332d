//! Exit codes, and errors as a person reads them.

use std::process::ExitCode;

use robota_core::{ErrorKind, ProviderErrorKind};

use crate::harmless::lines;

/// How the program ends. The numbers are part of its interface (see `--help`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The turn completed.
    Success,
    /// The turn failed or reached a limit.
    Failed,
    /// Command line or prompt cannot be used.
    Usage,
    /// Something is not set up.
    Configuration,
    /// The session's files, or standard output, cannot be written or read.
    Storage,
    /// Rules, mode or a hook did not let a call run.
    Refused,
    /// A command that ran in our place ended so.
    Command(u8),
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Configuration => 3,
            Exit::Storage => 4,
            Exit::Refused => 5,
            Exit::Command(code) => code,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        })
    }
}

/// Why the program cannot go on: what happened, what to do, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Standard output that cannot be written.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        Self::new(Exit::Storage, format!("standard output cannot be written: {error}"))
    }

    /// One or two paragraphs for a terminal.
    pub(crate) fn render(&self) -> String {
        let text = match &self.hint {
            Some(hint) => format!("error: {}\n  hint: {}", self.message, hint.replace('\n', "\n        ")),
            None => format!("error: {}", self.message),
        };
        lines(&text)
    }

    /// An error with all its causes in one line.
    pub(crate) fn from_error(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self::new(exit, chain(error))
    }
}

/// The message of an error followed by those of its causes that add something.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

/// The exit code of a failed turn.
pub(crate) const fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::Storage => Exit::Storage,
        ErrorKind::Configuration
        | ErrorKind::Provider(ProviderErrorKind::Configuration | ProviderErrorKind::Authentication) => {
            Exit::Configuration
        }
        _ => Exit::Failed,
    }
}
