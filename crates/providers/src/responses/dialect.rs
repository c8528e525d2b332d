//! The optional fields that servers differ in (protocols F4, quirk 14).

use crate::api_error::ApiError;

/// What is written; all of it, until a server refuses some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    /// `include`.
    pub(super) include: bool,
    /// `prompt_cache_key`.
    pub(super) cache_key: bool,
    /// `reasoning.summary`.
    pub(super) summary: bool,
    /// `reasoning.effort`.
    pub(super) effort: bool,
    /// `strict` in `text.format`.
    pub(super) strict: bool,
    /// `max_output_tokens`.
    pub(super) output_limit: bool,
    /// The ids of items of earlier answers, which gateways may look for in a store that has none.
    pub(super) item_ids: bool,
    /// Reasoning of earlier answers, which only the key it was made with can read.
    pub(super) reasoning_items: bool,
}

impl Default for Spoken {
    fn default() -> Self {
        Self::of(0)
    }
}

impl Spoken {
    /// What is spoken when `bits` say what is not: each of them stands for something left out.
    pub(super) fn of(bits: u32) -> Self {
        let has = |bit: u32| bits & (1 << bit) == 0;
        Self {
            include: has(0),
            cache_key: has(1),
            summary: has(2),
            effort: has(3),
            strict: has(4),
            output_limit: has(5),
            item_ids: has(6),
            reasoning_items: has(7),
        }
    }

    /// The same as a number.
    pub(super) fn bits(self) -> u32 {
        let Self { include, cache_key, summary, effort, strict, output_limit, item_ids, reasoning_items } =
            self;
        let fields = [include, cache_key, summary, effort, strict, output_limit, item_ids, reasoning_items];
        fields.iter().rev().fold(0, |bits, spoken| bits << 1 | u32::from(!spoken))
    }

    /// What to speak after `refusal`, one thing less; the same when the refusal is about something else.
    pub(super) fn corrected(mut self, refusal: &ApiError) -> Self {
        // An item that is looked for and not found is a 404.
        if !matches!(refusal.status, Some(400 | 404 | 422)) {
            return self;
        }
        if is_about_stored_items(refusal) {
            // Without their ids items are taken as they are.
            *(if self.item_ids { &mut self.item_ids } else { &mut self.reasoning_items }) = false;
        } else if is_about_unreadable_reasoning(refusal) {
            self.reasoning_items = false;
        } else if is_about_schema(refusal) {
            self.strict = false;
        } else if is_about_unknown_field(refusal) {
            self.without_field(refusal);
        }
        self
    }

    /// What to speak after `refusal` of a server that may not know all the items it writes itself: answers in ever
    /// plainer words.
    pub(super) fn plainer(mut self, refusal: &ApiError) -> Self {
        let about_input = refusal.param.as_deref().is_some_and(|param| param.starts_with("input"))
            || ["input[", "'input'", "`input`", "reasoning"].iter().any(|phrase| refusal.says(phrase));
        if matches!(refusal.status, Some(400 | 422)) && about_input {
            *(if self.item_ids { &mut self.item_ids } else { &mut self.reasoning_items }) = false;
        }
        self
    }

    fn without_field(&mut self, refusal: &ApiError) {
        let names = |field: &str| refusal.says(field) || refusal.param.as_deref() == Some(field);
        let quotes = |field: &str| ["'", "`", "\""].iter().any(|mark| names(&format!("{mark}{field}{mark}")));
        let begins = |field: &str| refusal.param.as_deref().is_some_and(|param| param.starts_with(field));
        let about_encryption = names("reasoning.encrypted_content") || refusal.says("encrypted content");
        if self.include && (begins("include") || quotes("include") || about_encryption) {
            self.include = false;
        } else if self.summary && (names("reasoning.summary") || refusal.says("reasoning summar")) {
            self.summary = false;
        } else if self.effort && (names("reasoning.effort") || names("reasoning_effort")) {
            self.effort = false;
        } else if self.cache_key && names("prompt_cache_key") {
            self.cache_key = false;
        } else if self.output_limit && names("max_output_tokens") && !refusal.says("invalid") {
            self.output_limit = false;
        } else if self.strict && names("strict") {
            self.strict = false;
        } else if begins("reasoning") || quotes("reasoning") {
            (self.summary, self.effort) = (false, false);
        }
    }
}

fn is_about_unknown_field(refusal: &ApiError) -> bool {
    const COMPLAINTS: [&str; 11] = [
        "unsupported",
        "not supported",
        "unrecognized",
        "unknown",
        "unexpected",
        "not permitted",
        "not allowed",
        "extra",
        "invalid value",
        "must be verified",
        "does not support",
    ];
    let named = refusal.code.as_deref().is_some_and(|code| code.starts_with("un"));
    named || COMPLAINTS.iter().any(|complaint| refusal.says(complaint))
}

fn is_about_stored_items(refusal: &ApiError) -> bool {
    refusal.says("items are not persisted")
        || (refusal.says("item with id") && refusal.says("not found"))
        || refusal.says("required following item")
        || refusal.says("required 'reasoning' item")
}

fn is_about_unreadable_reasoning(refusal: &ApiError) -> bool {
    refusal.code.as_deref() == Some("invalid_encrypted_content")
        || (refusal.says("encrypted content") && (refusal.says("verif") || refusal.says("decrypt")))
}

fn is_about_schema(refusal: &ApiError) -> bool {
    refusal.code.as_deref() == Some("invalid_json_schema")
        || refusal.says("invalid schema for response_format")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "read best with the value written in place")]
    fn dropped(spoken: Spoken, status: u16, error: Value) -> Spoken {
        spoken.corrected(&ApiError::from_body(status, json!({"error": error}).to_string().as_bytes()))
    }

    #[test]
    fn every_dialect_is_a_number() {
        for bits in 0..=u32::from(u8::MAX) {
            assert_eq!(Spoken::of(bits).bits(), bits);
        }
    }

    #[test]
    fn a_refused_field_is_left_out_from_then_on() {
        let all = Spoken::default();
        for (status, error, expected) in [
            (
                400,
                json!({"message": "Encrypted content is not supported with this model.", "param": "include"}),
                Spoken { include: false, ..all },
            ),
            (
                422,
                json!({"message": "Extra inputs are not permitted", "param": "prompt_cache_key"}),
                Spoken { cache_key: false, ..all },
            ),
            (
                400,
                json!({"message": "Your organization must be verified to generate reasoning summaries.", "param": "reasoning.summary", "code": "unsupported_value"}),
                Spoken { summary: false, ..all },
            ),
            (
                400,
                json!({"message": "Unsupported value: 'max' is not supported with the 'gpt-x' model.", "param": "reasoning.effort", "code": "unsupported_value"}),
                Spoken { effort: false, ..all },
            ),
            (
                400,
                json!({"message": "Unknown parameter: 'reasoning'."}),
                Spoken { summary: false, effort: false, ..all },
            ),
            (
                400,
                json!({"message": "Unsupported parameter: max_output_tokens"}),
                Spoken { output_limit: false, ..all },
            ),
            (
                400,
                json!({"message": "Invalid schema for response_format 'x': …", "code": "invalid_json_schema"}),
                Spoken { strict: false, ..all },
            ),
            (
                404,
                json!({"message": "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."}),
                Spoken { item_ids: false, ..all },
            ),
            (
                400,
                json!({"message": "The encrypted content gAAA could not be verified.", "code": "invalid_encrypted_content"}),
                Spoken { reasoning_items: false, ..all },
            ),
            (400, json!({"message": "Invalid 'input[0].name': string too long."}), all),
            (404, json!({"message": "The model `x` does not exist."}), all),
            (400, json!({"message": "Invalid value for 'max_output_tokens': above the maximum."}), all),
            (429, json!({"message": "prompt_cache_key is not supported"}), all),
        ] {
            assert_eq!(dropped(all, status, error.clone()), expected, "{error}");
        }
    }

    #[test]
    fn answers_are_sent_in_plainer_words_where_their_own_are_refused() {
        let all = Spoken::default();
        let union = json!({"message": "Input should be a valid item", "param": "input[3]"});
        let error = ApiError::from_body(422, json!({"error": union}).to_string().as_bytes());
        let anonymous = Spoken { item_ids: false, ..all };
        assert_eq!((all.corrected(&error), all.plainer(&error)), (all, anonymous));
        assert_eq!(anonymous.plainer(&error), Spoken { reasoning_items: false, ..anonymous });
        let lookup = json!({"message": "Item with id 'rs_1' not found."});
        assert_eq!(dropped(anonymous, 404, lookup), Spoken { reasoning_items: false, ..anonymous });
    }
}
