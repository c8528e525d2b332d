//! A model's answer out of a recording.

use super::{ModelEvent, ProviderError, ProviderErrorKind, RequestDigest};

/// What a model call came to, as a recording has it: enough to give the same answer again without the model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordedAnswer {
    /// Stands for the request that it answers; `None` when that was not recorded.
    pub digest: Option<RequestDigest>,
    /// What came, in order. The last one is [`ModelEvent::Finish`] unless the call failed.
    pub events: Vec<ModelEvent>,
    /// How the call failed, after the events.
    pub failure: Option<RecordedFailure>,
}

/// How a recorded call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedFailure {
    /// What kind of failure it was.
    pub kind: ProviderErrorKind,
    /// What happened.
    pub message: String,
    /// HTTP status of the answer, when there was one.
    pub status: Option<u16>,
}

impl RecordedAnswer {
    /// An answer of these events.
    #[must_use]
    pub fn new(events: Vec<ModelEvent>) -> Self {
        Self { events, ..Self::default() }
    }

    /// The same answer, to the request that `digest` stands for.
    #[must_use]
    pub fn to_request(mut self, digest: Option<RequestDigest>) -> Self {
        self.digest = digest;
        self
    }

    /// The same answer, which then broke off.
    #[must_use]
    pub fn failing(mut self, failure: RecordedFailure) -> Self {
        self.failure = Some(failure);
        self
    }
}

impl RecordedFailure {
    /// A failure of `kind`, in words for a person.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>, status: Option<u16>) -> Self {
        Self { kind, message: message.into(), status }
    }
}

impl From<RecordedFailure> for ProviderError {
    fn from(failure: RecordedFailure) -> Self {
        let error = Self::new(failure.kind, failure.message);
        match failure.status {
            Some(status) => error.with_status(status),
            None => error,
        }
    }
}
