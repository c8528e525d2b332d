//! What a server has turned out not to understand, for each generation of models.

use robota_core::ProviderErrorKind;

use super::generation::Generation;
use crate::api_error::ApiError;
use crate::learned;
use crate::wire::Dialect;

/// Bits of a [`Dialect`] that say what is left out; the two above them are the generation.
const FLAGS: u64 = 0b11_1111;

/// What is left out of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken(u64);

impl Spoken {
    /// Schemas are written as JSON Schema no more, but in the API's own subset of OpenAPI.
    pub(super) const OWN_SCHEMA: Self = Self(1);
    /// How much is thought is left to the model.
    pub(super) const NO_LEVEL: Self = Self(1 << 1);
    /// Thinking is not spoken of.
    pub(super) const NO_THINKING: Self = Self(1 << 2);
    /// Tools of the service do not go together with functions.
    pub(super) const NO_WEB: Self = Self(1 << 3);
    /// A form of the answer does not go together with functions.
    pub(super) const NO_FORM: Self = Self(1 << 4);

    /// What goes back as proof of thinking is not what the server wants: where the generation of the model wants
    /// none, something must stand for it; where it wants some, what the history has is not accepted, as after a
    /// change of model or key.
    pub(super) const OTHER_PROOF: Self = Self(1 << 5);

    pub(super) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// The flag that would spare a request written like this the `refusal`.
    fn correction(self, refusal: &ApiError, proven: bool) -> Option<Self> {
        if refusal.kind() != ProviderErrorKind::InvalidRequest {
            return None;
        }
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| refusal.says(phrase));
        let flag = if says(&["thought signature", "thought_signature", "thoughtSignature"]) {
            // What is missing is sent already where it is known to be wanted.
            if says(&["missing"]) == proven {
                return None;
            }
            Self::OTHER_PROOF
        } else if says(&["json_schema", "jsonSchema"]) {
            Self::OWN_SCHEMA
        } else if says(&["response mime type", "response_mime_type"]) && says(&["function"]) {
            Self::NO_FORM
        } else if says(&["tool use with function calling", "server_side_tool", "built-in tools"])
            || (says(&["google_search", "googleSearch", "search grounding", "url_context", "urlContext"])
                && says(&["support", "unknown name"]))
        {
            Self::NO_WEB
        } else if says(&["thinking", "include_thoughts", "includeThoughts"]) {
            let about_amount = says(&["level", "budget"]) && !says(&["thinking is not"]);
            if about_amount && !self.has(Self::NO_LEVEL) { Self::NO_LEVEL } else { Self::NO_THINKING }
        } else {
            return None;
        };
        (!self.has(flag)).then_some(flag)
    }
}

/// What is known of each model.
#[derive(Default)]
pub(super) struct Learned(learned::Learned);

impl Learned {
    /// What is left out for `model`, and the same as a number that [`Self::learn`] understands.
    pub(super) fn of(&self, model: &str, generation: Generation) -> (Spoken, Dialect) {
        let (bits, dialect) = self.0.about(model);
        (Spoken(bits.into()), Dialect(dialect.0 | generation.number() << 6))
    }

    /// Learns from the `refusal` of a request written in `dialect`. True when another one would be written now.
    pub(super) fn learn(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let bits = u64::from(learned::Learned::bits(dialect));
        let proven = bits >> 6 == Generation::Three.number();
        let Some(flag) = Spoken(bits & FLAGS).correction(refusal, proven) else { return false };
        u32::try_from(flag.0).is_ok_and(|flag| self.0.add(dialect, flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(message: &str) -> ApiError {
        ApiError { status: Some(400), message: message.to_owned(), ..ApiError::default() }
    }

    #[test]
    fn what_is_refused_is_left_out_from_then_on_for_that_model() {
        for (message, flag) in [
            (
                "Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0]': Cannot find field.",
                Spoken::OWN_SCHEMA,
            ),
            ("Tool use with function calling is unsupported by the model.", Spoken::NO_WEB),
            ("Search Grounding is not supported.", Spoken::NO_WEB),
            ("Thinking level MEDIUM is not supported for this model.", Spoken::NO_LEVEL),
            ("Budget 0 is invalid. This model only works in thinking mode.", Spoken::NO_LEVEL),
            ("Function call is missing a thought_signature in functionCall parts.", Spoken::OTHER_PROOF),
            ("Thinking is not enabled for models/gemini-2.0-flash", Spoken::NO_THINKING),
            (
                "Function calling with a response mime type: 'application/json' is unsupported",
                Spoken::NO_FORM,
            ),
        ] {
            let learned = Learned::default();
            let known = |model| learned.of(model, Generation::TwoFive);
            assert!(learned.learn(&refusal(message), known("one").1), "{message}");
            assert_eq!(known("one").0, flag, "{message}");
            assert_eq!(known("two").0, Spoken::default());
        }
    }

    #[test]
    fn nothing_is_learnt_twice_or_from_other_failures() {
        let learned = Learned::default();
        let known = || learned.of("m", Generation::Three);
        let plain = known().1;
        assert!(!learned.learn(&refusal("Function call is missing a thought_signature"), plain));
        assert!(learned.learn(&refusal("Corrupted thought signature."), plain));
        let overloaded = ApiError { status: Some(503), ..refusal("thinking") };
        assert!(!learned.learn(&overloaded, plain));
        let web = "Tool use with function calling is unsupported";
        assert!(learned.learn(&refusal(web), plain) && !learned.learn(&refusal(web), known().1));
        // Without a level, it must be thinking itself.
        assert!(learned.learn(&refusal("thinking_budget"), known().1));
        assert!(learned.learn(&refusal("thinking_budget"), known().1));
        let all = [Spoken::OTHER_PROOF, Spoken::NO_WEB, Spoken::NO_LEVEL, Spoken::NO_THINKING];
        assert_eq!(known().0, Spoken(all.iter().fold(0, |bits, flag| bits | flag.0)));
    }
}
