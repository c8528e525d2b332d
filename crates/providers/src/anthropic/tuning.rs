//! How much a model thinks, how much effort it makes, and in what form it answers.

use robota_core::{Effort, ModelRequest, ModelTable, Thinking, ToolChoice};
use serde_json::{Map, Value, json};

use super::abilities::{Abilities, ThinkingForm, ThinkingOff};
use super::schema;
use super::spoken::Spoken;
use crate::ProviderOptions;

/// Most output tokens of a request that does not say; the API needs a number.
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 16_384;

/// The smallest budget for thinking that the API takes, and what is left for the answer at least.
const LEAST_TOKENS: u32 = 1_024;

/// The fields that the request's own wishes and those of the options come down to.
#[derive(Debug, PartialEq)]
pub(super) struct Tuned {
    pub(super) max_tokens: u32,
    pub(super) thinking: Option<Value>,
    pub(super) output_config: Option<Value>,
}

impl Tuned {
    /// What `request` comes down to. It wins over `options`, and fields in the body of the options win over both.
    pub(super) fn of(
        request: &ModelRequest,
        options: &ProviderOptions,
        default_max_tokens: Option<u32>,
        spoken: Spoken,
    ) -> Self {
        let abilities = Abilities::of(&request.model);
        let model = ModelTable::builtin().lookup(&request.model);
        let cap = u32::try_from(model.max_output_tokens).ok().filter(|_| model.known);
        let usual = DEFAULT_MAX_OUTPUT_TOKENS.min(cap.unwrap_or(u32::MAX));
        let max_tokens = request.max_output_tokens.or(default_max_tokens).unwrap_or(usual);
        let effort = request.effort.or(options.effort);

        let wanted = if request.thinking == Thinking::Default { options.thinking } else { request.thinking };
        let room = Room { max_tokens, cap };
        let forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
        let (thinking, max_tokens) = match options.body.get("thinking") {
            Some(thinking) => (Some(thinking.clone()), max_tokens),
            None => thinking(wanted, effort, &abilities, &room, spoken, forced),
        };
        let output_config = output_config(request, effort, &abilities, options, spoken);
        Self { max_tokens, thinking, output_config }
    }
}

/// The tokens an answer may have.
struct Room {
    /// What is asked for.
    max_tokens: u32,
    /// The most that the model can write, where that is known.
    cap: Option<u32>,
}

/// The field `thinking`, and the most output tokens that go with it.
fn thinking(
    wanted: Thinking,
    effort: Option<Effort>,
    abilities: &Abilities,
    room: &Room,
    spoken: Spoken,
    forced: bool,
) -> (Option<Value>, u32) {
    let form = spoken.thinking(abilities.thinking);
    let unchanged = |thinking| (thinking, room.max_tokens);
    match (wanted, form) {
        (Thinking::Disabled | Thinking::Budget(0), form) => unchanged(off(form, abilities.thinking_off)),
        // A forced call leaves no room for thinking, and the API refuses to have both.
        (Thinking::Adaptive | Thinking::Budget(_), _) if forced => unchanged(None),
        (Thinking::Adaptive | Thinking::Budget(_), ThinkingForm::Adaptive)
        | (Thinking::Adaptive, ThinkingForm::Either) => unchanged(Some(json!({"type": "adaptive"}))),
        (Thinking::Budget(tokens), ThinkingForm::Budget | ThinkingForm::Either) => room.with_budget(tokens),
        (Thinking::Adaptive, ThinkingForm::Budget) => room.with_share(effort),
        _ => unchanged(None),
    }
}

fn off(form: ThinkingForm, off: ThinkingOff) -> Option<Value> {
    match off {
        _ if form == ThinkingForm::None => None,
        ThinkingOff::Disabled => Some(json!({"type": "disabled"})),
        ThinkingOff::BetweenTools => Some(json!({"type": "between_tools"})),
        ThinkingOff::Unasked => None,
    }
}

impl Room {
    /// Thinking with `tokens`, and beside them as much room for the answer as was asked for, up to what the model can
    /// write. Thinking counts as output.
    fn with_budget(&self, tokens: u32) -> (Option<Value>, u32) {
        let budget = tokens.max(LEAST_TOKENS);
        let wanted =
            if budget < self.max_tokens { self.max_tokens } else { budget.saturating_add(self.max_tokens) };
        let max_tokens = wanted.min(self.cap.unwrap_or(wanted).max(self.max_tokens)).max(2 * LEAST_TOKENS);
        let budget = budget.min(max_tokens - LEAST_TOKENS);
        (Some(json!({"type": "enabled", "budget_tokens": budget})), max_tokens)
    }

    /// Thinking with a share of the output: what such models have in place of thinking as much as they find right.
    fn with_share(&self, effort: Option<Effort>) -> (Option<Value>, u32) {
        let eighths = match effort {
            Some(Effort::Low) => 1,
            Some(Effort::Medium) => 2,
            None | Some(Effort::High) => 4,
            Some(Effort::XHigh) => 5,
            Some(Effort::Max) => 6,
        };
        self.with_budget(self.max_tokens / 8 * eighths)
    }
}

/// The field `output_config`: what the body of the options says of it, and beside that what the request wants.
fn output_config(
    request: &ModelRequest,
    effort: Option<Effort>,
    abilities: &Abilities,
    options: &ProviderOptions,
    spoken: Spoken,
) -> Option<Value> {
    let mut config = match options.body.get("output_config") {
        Some(Value::Object(config)) => config.clone(),
        Some(other) => return Some(other.clone()),
        None => Map::new(),
    };
    let effort = effort.filter(|_| spoken.effort()).and_then(|effort| abilities.effort(effort));
    if let Some(effort) = effort {
        config.entry("effort").or_insert_with(|| effort.name().into());
    }
    if let Some(format) = request.response_format.as_ref().filter(|_| abilities.format) {
        config
            .entry("format")
            .or_insert_with(|| json!({"type": "json_schema", "schema": schema::supported(&format.schema)}));
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use robota_core::ResponseFormat;

    use super::*;

    fn request(model: &str, thinking: Thinking, effort: Option<Effort>) -> ModelRequest {
        let mut request = ModelRequest::new(model, Vec::new());
        (request.thinking, request.effort) = (thinking, effort);
        request
    }

    fn tuned(request: &ModelRequest, options: &ProviderOptions) -> (u32, Value, Value) {
        let Tuned { max_tokens, thinking, output_config } =
            Tuned::of(request, options, Some(8_000), Spoken::default());
        (max_tokens, thinking.unwrap_or_default(), output_config.unwrap_or_default())
    }

    fn enabled(tokens: u32) -> Value {
        json!({"type": "enabled", "budget_tokens": tokens})
    }

    #[test]
    fn thinking_takes_the_form_that_the_model_knows() {
        let (adaptive, none) = (json!({"type": "adaptive"}), Value::Null);
        let cases = [
            ("claude-opus-4-6", Thinking::Adaptive, 8_000, adaptive.clone()),
            ("claude-opus-4-6", Thinking::Budget(2_000), 8_000, enabled(2_000)),
            ("claude-opus-5", Thinking::Budget(2_000), 8_000, adaptive),
            ("claude-sonnet-4-5", Thinking::Adaptive, 8_000, enabled(4_000)),
            ("claude-sonnet-4-5", Thinking::Budget(10), 8_000, enabled(1_024)),
            // As much room for the answer as was asked for, beside the thinking.
            ("claude-sonnet-4-5", Thinking::Budget(8_000), 16_000, enabled(8_000)),
            // No more than the model can write.
            ("claude-sonnet-4-5", Thinking::Budget(100_000), 64_000, enabled(62_976)),
            ("other-model", Thinking::Budget(100_000), 108_000, enabled(100_000)),
            ("claude-3-5-haiku-latest", Thinking::Budget(2_000), 8_000, none.clone()),
            ("claude-sonnet-4-5", Thinking::Disabled, 8_000, json!({"type": "disabled"})),
            ("claude-sonnet-5-5", Thinking::Disabled, 8_000, json!({"type": "between_tools"})),
            ("claude-opus-4-8", Thinking::Budget(0), 8_000, none.clone()),
            ("claude-sonnet-4-5", Thinking::Default, 8_000, none.clone()),
        ];
        for (model, wanted, max_tokens, expected) in cases {
            let found = tuned(&request(model, wanted, None), &ProviderOptions::default());
            assert_eq!(found, (max_tokens, expected, none.clone()), "{model} {wanted:?}");
        }
    }

    #[test]
    fn a_model_without_levels_of_effort_thinks_more_or_less_instead() {
        let efforts = Effort::ALL.map(Some);
        let found = efforts.map(|effort| {
            let request = request("claude-sonnet-4-5", Thinking::Adaptive, effort);
            tuned(&request, &ProviderOptions::default()).1["budget_tokens"].as_u64().unwrap()
        });
        assert_eq!(found, [1_024, 2_000, 4_000, 5_000, 6_000]);
    }

    #[test]
    fn the_smallest_answer_still_has_room_to_think_and_to_answer() {
        let mut request = request("claude-sonnet-4-5", Thinking::Adaptive, None);
        request.max_output_tokens = Some(100);
        assert_eq!(tuned(&request, &ProviderOptions::default()), (2_048, enabled(1_024), Value::Null));
    }

    #[test]
    fn a_forced_call_goes_without_thinking() {
        for choice in [ToolChoice::Required, ToolChoice::Tool("Read".into())] {
            let mut request = request("claude-sonnet-4-5", Thinking::Budget(9_000), None);
            request.tool_choice = choice;
            assert_eq!(tuned(&request, &ProviderOptions::default()), (8_000, Value::Null, Value::Null));
        }
    }

    #[test]
    fn the_request_wins_over_the_options_and_the_body_of_the_options_over_both() {
        let mut options = ProviderOptions {
            thinking: Thinking::Budget(2_000),
            effort: Some(Effort::Low),
            ..ProviderOptions::default()
        };
        let model = "claude-opus-4-6";
        let unsaid = request(model, Thinking::Default, None);
        let said = request(model, Thinking::Adaptive, Some(Effort::Max));
        assert_eq!(tuned(&unsaid, &options), (8_000, enabled(2_000), json!({"effort": "low"})));
        assert_eq!(tuned(&said, &options), (8_000, json!({"type": "adaptive"}), json!({"effort": "max"})));

        options.body.insert("thinking".into(), enabled(4_000));
        options.body.insert("output_config".into(), json!({"effort": "medium"}));
        let mut formed = said;
        formed.response_format = Some(ResponseFormat::new("answer", Arc::new(json!({"type": "string"}))));
        let format = json!({"type": "json_schema", "schema": {"type": "string"}});
        let config = json!({"effort": "medium", "format": format});
        assert_eq!(tuned(&formed, &options), (8_000, enabled(4_000), config));
    }
}
