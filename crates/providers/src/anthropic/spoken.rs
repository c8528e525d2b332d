//! What a server has turned out not to understand: betas, thinking, effort.

use super::abilities::ThinkingForm;
use super::betas::Betas;
use crate::api_error::ApiError;

/// The optional parts of a request that are left out or said in another way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken(u32);

impl Spoken {
    /// Thinking is asked for in the other form.
    const OTHER_THINKING: u32 = 1;
    const NO_THINKING: u32 = 1 << 1;
    const NO_EFFORT: u32 = 1 << 2;
    /// The first of the bits that stand for betas.
    const FIRST_BETA: usize = 3;
    const LAST_BETA: usize = 7;

    /// What is spoken when `bits` say what is not.
    pub(super) const fn of(bits: u32) -> Self {
        Self(bits)
    }

    /// The same as a number.
    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// How a model is asked to think that knows `form`.
    pub(super) fn thinking(self, form: ThinkingForm) -> ThinkingForm {
        match form {
            _ if self.has(Self::NO_THINKING) => ThinkingForm::None,
            ThinkingForm::Budget if self.has(Self::OTHER_THINKING) => ThinkingForm::Adaptive,
            ThinkingForm::Adaptive | ThinkingForm::Either if self.has(Self::OTHER_THINKING) => {
                ThinkingForm::Budget
            }
            form => form,
        }
    }

    /// Whether effort is asked for.
    pub(super) const fn effort(self) -> bool {
        !self.has(Self::NO_EFFORT)
    }

    /// Whether the beta with that place in the list is asked for. The last bit stands for all that have none of
    /// their own.
    pub(super) fn beta(self, place: usize) -> bool {
        !self.has(Self::beta_bit(place))
    }

    fn beta_bit(place: usize) -> u32 {
        1 << (Self::FIRST_BETA + place).min(Self::LAST_BETA)
    }

    /// What to speak after `refusal`; the same when it is about something else.
    pub(super) fn corrected(mut self, refusal: &ApiError, betas: &Betas) -> Self {
        // What a message says of its own blocks is no matter of what the server understands.
        if !matches!(refusal.status, Some(400 | 422)) || refusal.says("messages.") {
            return self;
        }
        let places = betas.refused(refusal);
        if !places.is_empty() {
            self.0 |= places.into_iter().fold(0, |bits, place| bits | Self::beta_bit(place));
        } else if !is_unknown(refusal) || refusal.says("output_config.format") {
            // Who asks for a form of the answer must learn that it cannot be had.
        } else if names(refusal, "output_config") || refusal.says("effort") {
            self.0 |= Self::NO_EFFORT;
        } else if names(refusal, "thinking") || refusal.says("adaptive thinking") {
            self.0 |= if self.has(Self::OTHER_THINKING) { Self::NO_THINKING } else { Self::OTHER_THINKING };
        }
        self
    }
}

/// Whether the server does not know what it refuses, rather than not liking a value.
fn is_unknown(refusal: &ApiError) -> bool {
    const COMPLAINTS: [&str; 9] = [
        "unsupported",
        "not support",
        "unrecognized",
        "unknown",
        "unexpected",
        "not permitted",
        "not allowed",
        "does not match any",
        "extra ",
    ];
    COMPLAINTS.iter().any(|complaint| refusal.says(complaint))
}

fn names(refusal: &ApiError, field: &str) -> bool {
    let begins = |text: &str| text.trim_start_matches(['"', '`', '\'']).starts_with(field);
    begins(&refusal.message)
        || refusal.param.as_deref().is_some_and(begins)
        || ["`", "\"", "'"].iter().any(|quote| refusal.says(&format!("{quote}{field}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(message: &str) -> ApiError {
        ApiError { status: Some(400), message: message.into(), structured: true, ..ApiError::default() }
    }

    fn after(messages: &[&str]) -> Spoken {
        let betas = Betas::new(["a-2026-01-01".to_owned(), "b-2026-01-01".to_owned()]).unwrap();
        messages.iter().fold(Spoken::default(), |spoken, message| spoken.corrected(&refusal(message), &betas))
    }

    #[test]
    fn a_refused_beta_is_left_out_and_all_are_where_none_is_named() {
        let one = after(&["Unexpected value(s) `a-2026-01-01` for the `anthropic-beta` header."]);
        assert_eq!([0, 1, 2].map(|place| one.beta(place)), [true, false, true]);
        let all = after(&["anthropic-beta: this header is not allowed here"]);
        assert_eq!([0, 1, 2].map(|place| all.beta(place)), [false, false, false]);
        assert!(after(&["tools.3: Input tag 'web_fetch_20250910' found"]).beta(1));
        assert!(!after(&["tools.3: Input tag 'web_fetch_20250910' found"]).beta(0));
    }

    #[test]
    fn thinking_is_asked_for_in_the_other_form_and_then_not_at_all() {
        let other =
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\"";
        let form = |spoken: Spoken| spoken.thinking(ThinkingForm::Budget);
        assert_eq!(form(after(&[other])), ThinkingForm::Adaptive);
        assert_eq!(after(&[other]).thinking(ThinkingForm::Adaptive), ThinkingForm::Budget);
        let unknown = "thinking: Extra inputs are not permitted";
        assert_eq!(form(after(&[other, unknown])), ThinkingForm::None);
    }

    #[test]
    fn effort_is_left_out_where_it_is_not_known() {
        assert!(!after(&["This model does not support the effort parameter."]).effort());
        assert!(!after(&["output_config: Extra inputs are not permitted"]).effort());
    }

    #[test]
    fn other_refusals_change_nothing() {
        for message in [
            "messages.1.content.0: Invalid `signature` in `thinking` block; unexpected",
            "max_tokens: 90000 > 8192, which is the maximum allowed",
            "`thinking.budget_tokens` must be less than `max_tokens`",
            "the beta program has ended",
            "output_config.format.schema: the keyword `if` is not supported",
        ] {
            assert_eq!(after(&[message]), Spoken::default(), "{message}");
        }
    }
}
