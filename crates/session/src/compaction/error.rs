//! Why a compaction did not happen.

use std::fmt;

use robota_core::{Error, ErrorKind, ProviderError};

use super::AutoCompactThreshold;

/// Why a history was not compacted. It is as it was, whatever the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// Beyond what has to stay as it is, there is nothing to summarise.
    #[error("there is nothing to compact: besides the last exchange, the conversation has no messages")]
    Nothing,
    /// A hook did not let it happen, for this reason.
    #[error("a hook stopped the compaction: {0}")]
    Blocked(String),
    /// It was cancelled.
    #[error("the compaction was cancelled")]
    Cancelled,
    /// The model wrote no summary.
    #[error("the model gave no summary of the conversation")]
    EmptySummary,
    /// The model could not be called, or failed while it wrote the summary.
    #[error("the conversation could not be summarised: {0}")]
    Provider(#[source] ProviderError),
    /// The history would be too large even then.
    #[error("{0}")]
    NotEnough(Shortfall),
    /// The history became another one while it was summarised.
    #[error("the conversation was changed while it was summarised")]
    Changed,
    /// The log takes no events.
    #[error("{0}")]
    Log(#[source] Error),
}

/// What takes the room that a compaction cannot free. All sizes are estimates in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Shortfall {
    /// The share of the window to come under; `None` when smaller would have been enough.
    pub goal: Option<AutoCompactThreshold>,
    /// Size of the window; 0 when unknown.
    pub window: u64,
    /// What the conversation takes now.
    pub before: u64,
    /// What it would take after the compaction.
    pub after: u64,
    /// System prompt and tools.
    pub fixed: u64,
    /// Messages that stay as they are, and the one that is about to be added.
    pub kept: u64,
    /// The summary; 0 when none was written, because it could not have helped.
    pub summary: u64,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { goal, window, before, after, fixed, kept, summary } = self;
        match goal {
            Some(goal) if *window > 0 => {
                let percent = goal.share() * 100.0;
                write!(
                    f,
                    "compaction cannot get the conversation under {percent:.1} % of the context window"
                )?;
            }
            _ => write!(f, "compaction cannot make the conversation smaller")?,
        }
        write!(f, ": of about {before} tokens, {after} would remain (system prompt and tools {fixed}, ")?;
        write!(f, "messages that stay {kept}, summary {summary})")?;
        if *window > 0 { write!(f, " in a window of {window}") } else { Ok(()) }
    }
}

impl CompactionError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotEnough(Shortfall { goal: Some(_), .. }) => Some(
                "Start a new session, raise the threshold of automatic compaction, choose a model with a larger \
                 context window, or shorten the instructions and the list of tools.",
            ),
            Self::NotEnough(_) => Some("Start a new session if the context window is too full."),
            Self::EmptySummary => Some("Try again, or choose another model."),
            Self::Blocked(_) => Some("Change the PreCompact hook, or start a new session."),
            Self::Provider(error) => error.hint(),
            Self::Log(error) => error.hint(),
            Self::Changed => Some("Try again when nothing else works on the session."),
            Self::Nothing | Self::Cancelled => None,
        }
    }
}

impl From<CompactionError> for Error {
    /// The error with which a turn ends that needs the room.
    fn from(error: CompactionError) -> Self {
        let (message, hint) = (error.to_string(), error.hint().map(str::to_owned));
        let kind = match &error {
            CompactionError::Provider(error) => ErrorKind::Provider(error.kind()),
            CompactionError::Cancelled => ErrorKind::Provider(robota_core::ProviderErrorKind::Cancelled),
            CompactionError::Log(error) => error.kind(),
            CompactionError::Blocked(_) => ErrorKind::Configuration,
            CompactionError::NotEnough(_) | CompactionError::EmptySummary | CompactionError::Changed => {
                ErrorKind::Compaction
            }
            CompactionError::Nothing => ErrorKind::Validation,
        };
        let wrapped = Self::new(kind, message);
        let wrapped = match hint {
            Some(hint) => wrapped.with_hint(hint),
            None => wrapped,
        };
        match error {
            // Status and request id of the provider's answer stay within reach.
            CompactionError::Provider(source) => wrapped.with_source(source),
            other => wrapped.with_source(other),
        }
    }
}
