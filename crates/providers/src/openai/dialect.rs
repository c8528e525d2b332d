//! The optional fields that compatible servers differ in (protocols F4, quirk 14).

use crate::api_error::ApiError;
use crate::wire::Dialect;

/// Name of the field that limits the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MaxTokensField {
    /// `max_completion_tokens`, as OpenAI wants it today.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, as it was called before.
    MaxTokens,
}

/// The optional fields in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) stream_options: bool,
    pub(super) max_tokens_field: MaxTokensField,
}

impl Spoken {
    const NO_STREAM_OPTIONS: u8 = 1;
    const MAX_TOKENS: u8 = 2;

    /// What a request in `dialect` speaks.
    pub(super) fn of(dialect: Dialect) -> Self {
        let max_tokens = dialect.0 & Self::MAX_TOKENS != 0;
        Self {
            stream_options: dialect.0 & Self::NO_STREAM_OPTIONS == 0,
            max_tokens_field: if max_tokens {
                MaxTokensField::MaxTokens
            } else {
                MaxTokensField::MaxCompletionTokens
            },
        }
    }

    /// The same as a number.
    pub(super) fn dialect(self) -> Dialect {
        let stream_options = if self.stream_options { 0 } else { Self::NO_STREAM_OPTIONS };
        let max_tokens =
            if self.max_tokens_field == MaxTokensField::MaxTokens { Self::MAX_TOKENS } else { 0 };
        Dialect(stream_options | max_tokens)
    }

    /// What to speak after `refusal`; the same when the refusal is about something else.
    pub(super) fn corrected(mut self, refusal: &ApiError) -> Self {
        const COMPLAINTS: [&str; 8] = [
            "unsupported",
            "not supported",
            "unrecognized",
            "unknown",
            "unexpected",
            "not permitted",
            "not allowed",
            "extra",
        ];
        if !matches!(refusal.status, Some(400 | 422)) {
            return self;
        }
        let names = |field: &str| refusal.says(field) || refusal.param.as_deref() == Some(field);
        let unsupported = COMPLAINTS.iter().any(|complaint| refusal.says(complaint))
            || refusal.code.as_deref() == Some("unsupported_parameter");
        if !unsupported {
            return self;
        }
        if names("stream_options") {
            self.stream_options = false;
        } else if names("max_completion_tokens") {
            // Named as what is unknown, or as what should be used instead.
            self.max_tokens_field = match self.max_tokens_field {
                MaxTokensField::MaxCompletionTokens => MaxTokensField::MaxTokens,
                MaxTokensField::MaxTokens => MaxTokensField::MaxCompletionTokens,
            };
        }
        self
    }
}
