//! Failures of model calls.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What kind of failure a model call met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// The key is missing or wrong.
    Authentication,
    /// The key may not do this.
    Permission,
    /// Model or endpoint does not exist.
    NotFound,
    /// Too many requests or tokens for now.
    RateLimit,
    /// The service has no capacity for now.
    Overloaded,
    /// The request does not fit the model's context window.
    ContextLength,
    /// The service refused the request as malformed.
    InvalidRequest,
    /// The provider's filter refused the content.
    ContentFilter,
    /// The server could not be reached, or the connection broke.
    Network,
    /// The server sent nothing for too long.
    Timeout,
    /// The answer is not what this API promises.
    Protocol,
    /// The service failed.
    Server,
    /// The turn was aborted.
    Cancelled,
    /// The provider is not set up, for example without a key.
    Configuration,
}

impl ProviderErrorKind {
    /// The stable code of the error taxonomy (facts sheet 2.9).
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Authentication | Self::Permission => "AUTHENTICATION_ERROR",
            Self::NotFound => "MODEL_NOT_AVAILABLE",
            Self::RateLimit => "RATE_LIMIT_ERROR",
            Self::Network | Self::Timeout => "NETWORK_ERROR",
            Self::Configuration => "CONFIGURATION_ERROR",
            Self::InvalidRequest | Self::ContextLength => "VALIDATION_ERROR",
            Self::Overloaded | Self::ContentFilter | Self::Protocol | Self::Server | Self::Cancelled => {
                "PROVIDER_ERROR"
            }
        }
    }

    /// Whether the same request may succeed a little later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Network | Self::Timeout | Self::Server => true,
            Self::Authentication
            | Self::Permission
            | Self::NotFound
            | Self::ContextLength
            | Self::InvalidRequest
            | Self::ContentFilter
            | Self::Protocol
            | Self::Cancelled
            | Self::Configuration => false,
        }
    }
}

/// Why a model call failed, in words for a person and facts for a program.
pub struct ProviderError(Box<Details>);

struct Details {
    kind: ProviderErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    /// What the server says, where that is not what the kind says.
    retryable: Option<bool>,
    request_id: Option<String>,
    hint: Option<String>,
    field: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// An error of `kind`; `message` says what happened and where, in one sentence without a full stop.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            retryable: None,
            request_id: None,
            hint: None,
            field: None,
            source: None,
        }))
    }

    /// The same error with the HTTP status of the answer.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// The same error with the time the server asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// The same error, of which the server itself says whether the same request may succeed a little later.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// The same error with the server's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// The same error with advice on what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with the field of the request that the service objects to, as the service names it.
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ProviderErrorKind {
        self.0.kind
    }

    /// HTTP status of the answer, when there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// How long the server asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The server's id of the request, for its support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The field of the request that the service objects to.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// Whether the same request may succeed a little later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable.unwrap_or(self.0.kind.is_retryable())
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("status", &self.0.status)
            .field("retry_after", &self.0.retry_after)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for ProviderError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
