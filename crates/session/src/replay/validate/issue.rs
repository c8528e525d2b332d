//! What can be wrong with a log.

use std::fmt;

use serde::Serialize;

use crate::printable::printable;

/// What is wrong in one place (facts sheet 4.4, and what this format can tell besides).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ReplayIssueCode {
    /// The session records what providers send, and nothing of it belongs to this request.
    ProviderNativeRawPayloadMissing,
    /// The answer to a request is not there as it came.
    ProviderResponseRawMissing,
    /// The answer to a request is not there.
    ProviderResponseNormalizedMissing,
    /// An answer or a summary is there, and the request is not.
    ProviderRequestMissing,
    /// A tool call is there, and its result is not.
    ToolResultMissing,
    /// The result of a tool call is there, and the call is not.
    ToolRequestMissing,
    /// What stands in the place of a large field does not say where the field is.
    PayloadReferenceInvalid,
    /// A large field is not there: its file is missing or another one.
    UnresolvedReplayPayload,
    /// The history that an event builds on is not the one that the events before it make.
    HistoryGap,
    /// An event of another session.
    ForeignEvent,
    /// An event that was there before.
    DuplicateEvent,
    /// An event that stands behind later ones.
    OutOfOrder,
    /// A line that cannot be read.
    LineDamaged,
}

impl ReplayIssueCode {
    /// The code as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProviderNativeRawPayloadMissing => "PROVIDER_NATIVE_RAW_PAYLOAD_MISSING",
            Self::ProviderResponseRawMissing => "PROVIDER_RESPONSE_RAW_MISSING",
            Self::ProviderResponseNormalizedMissing => "PROVIDER_RESPONSE_NORMALIZED_MISSING",
            Self::ProviderRequestMissing => "PROVIDER_REQUEST_MISSING",
            Self::ToolResultMissing => "TOOL_RESULT_MISSING",
            Self::ToolRequestMissing => "TOOL_REQUEST_MISSING",
            Self::PayloadReferenceInvalid => "PAYLOAD_REFERENCE_INVALID",
            Self::UnresolvedReplayPayload => "UNRESOLVED_REPLAY_PAYLOAD",
            Self::HistoryGap => "HISTORY_GAP",
            Self::ForeignEvent => "FOREIGN_EVENT",
            Self::DuplicateEvent => "DUPLICATE_EVENT",
            Self::OutOfOrder => "OUT_OF_ORDER",
            Self::LineDamaged => "LINE_DAMAGED",
        }
    }
}

impl fmt::Display for ReplayIssueCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayIssue {
    /// What.
    pub code: ReplayIssueCode,
    /// The same for a person, with the particulars.
    pub message: String,
    /// Which event or damaged line, counted from 0 in the order they were given.
    pub event_index: usize,
    /// The turn, as `{session}:{turn}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<String>,
    /// Number of the round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Id of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl ReplayIssue {
    pub(super) fn new(code: ReplayIssueCode, event_index: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, event_index, execution_id: None, round: None, tool_call_id: None }
    }
}

impl fmt::Display for ReplayIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, printable(&self.message))
    }
}

/// The verdict about a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayValidation {
    /// Nothing is wrong.
    pub ok: bool,
    /// What is wrong, in the order it was found: the first thousand.
    pub issues: Vec<ReplayIssue>,
    /// How many things are wrong, those that are not listed included.
    pub total: usize,
}

/// Issues as they are found.
#[derive(Default)]
pub(super) struct Issues {
    listed: Vec<ReplayIssue>,
    total: usize,
}

impl Issues {
    /// More than this are counted and not listed, so that a file of another kind costs no memory.
    const LISTED: usize = 1000;

    pub(super) fn push(&mut self, issue: ReplayIssue) {
        self.total += 1;
        if self.listed.len() < Self::LISTED {
            self.listed.push(issue);
        }
    }

    pub(super) fn into_validation(self) -> ReplayValidation {
        ReplayValidation { ok: self.total == 0, issues: self.listed, total: self.total }
    }
}
