//! How much a model thinks, in the terms of its generation.

use robota_core::{Effort, Thinking};
use serde_json::{Value, json};

use super::generation::Generation;
use super::spoken::Spoken;

/// The budget that leaves it to the model.
const DYNAMIC: i64 = -1;

/// `thinkingConfig` for `model`; `None` where nothing is said.
pub(super) fn config(
    model: &str,
    generation: Generation,
    spoken: Spoken,
    thinking: Thinking,
    effort: Option<Effort>,
) -> Option<Value> {
    if spoken.has(Spoken::NO_THINKING) {
        return None;
    }
    let mut config = json!({"includeThoughts": thinking != Thinking::Disabled});
    let amount = match generation {
        Generation::Unknown | Generation::Early => return None,
        _ if spoken.has(Spoken::NO_LEVEL) => return Some(config),
        Generation::TwoFive => {
            budget(model, thinking, effort).map(|budget| ("thinkingBudget", json!(budget)))
        }
        Generation::Three => level(model, thinking, effort).map(|level| ("thinkingLevel", json!(level))),
    };
    if let Some((field, amount)) = amount {
        config[field] = amount;
    }
    Some(config)
}

/// A budget of tokens in the range of the model: Pro always thinks, Flash and Flash-Lite need not.
fn budget(model: &str, thinking: Thinking, effort: Option<Effort>) -> Option<i64> {
    let (least, most) = match model {
        _ if model.contains("-pro") => (128, 32_768),
        _ if model.contains("-lite") => (512, 24_576),
        _ => (1, 24_576),
    };
    let by_effort = |effort| match effort {
        Effort::Low => 1024,
        Effort::Medium => 8192,
        Effort::High => 24_576,
        Effort::XHigh | Effort::Max => most,
    };
    match (thinking, effort) {
        (Thinking::Disabled | Thinking::Budget(0), _) => Some(if least == 128 { least } else { 0 }),
        (Thinking::Budget(tokens), _) => Some(i64::from(tokens).clamp(least, most)),
        (_, Some(effort)) => Some(by_effort(effort)),
        (Thinking::Adaptive, None) => Some(DYNAMIC),
        (_, None) => None,
    }
}

/// A level that the model has. Gemini 3 Pro knows no `medium`, and no Pro knows `minimal`.
fn level(model: &str, thinking: Thinking, effort: Option<Effort>) -> Option<&'static str> {
    let pro = model.contains("-pro");
    let least = if pro { "low" } else { "minimal" };
    let medium = if model.contains("gemini-3-pro") { "high" } else { "medium" };
    let effort = match thinking {
        Thinking::Disabled | Thinking::Budget(0) => return Some(least),
        Thinking::Budget(..=2048) => Effort::Low,
        Thinking::Budget(..=12_288) => Effort::Medium,
        Thinking::Budget(_) => Effort::High,
        _ => effort?,
    };
    Some(match effort {
        Effort::Low => "low",
        Effort::Medium => medium,
        Effort::High | Effort::XHigh | Effort::Max => "high",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(model: &str, thinking: Thinking, effort: Option<Effort>) -> Option<Value> {
        config(model, Generation::of(model), Spoken::default(), thinking, effort)
    }

    #[test]
    fn each_generation_is_told_in_its_own_terms() {
        let budget = |budget: i64| Some(json!({"includeThoughts": true, "thinkingBudget": budget}));
        let level = |level: &str| Some(json!({"includeThoughts": true, "thinkingLevel": level}));
        let open = || Some(json!({"includeThoughts": true}));
        let cases = [
            ("gemini-2.0-flash", Thinking::Adaptive, Some(Effort::High), None),
            ("gemma-3-27b-it", Thinking::Default, None, None),
            ("gemini-2.5-flash", Thinking::Default, None, open()),
            ("gemini-2.5-flash", Thinking::Adaptive, None, budget(-1)),
            ("gemini-2.5-flash", Thinking::Adaptive, Some(Effort::Medium), budget(8192)),
            ("gemini-2.5-pro", Thinking::Default, Some(Effort::Max), budget(32_768)),
            ("gemini-2.5-pro", Thinking::Budget(10), Some(Effort::Max), budget(128)),
            ("gemini-2.5-flash-lite", Thinking::Budget(99_999), None, budget(24_576)),
            ("gemini-3-flash-preview", Thinking::Adaptive, None, open()),
            ("gemini-3-flash-preview", Thinking::Default, Some(Effort::Medium), level("medium")),
            ("gemini-3-pro-preview", Thinking::Default, Some(Effort::Medium), level("high")),
            ("gemini-3.1-pro-preview", Thinking::Default, Some(Effort::Low), level("low")),
            ("gemini-3-flash-preview", Thinking::Budget(20_000), Some(Effort::Low), level("high")),
        ];
        for (model, thinking, effort, expected) in cases {
            assert_eq!(said(model, thinking, effort), expected, "{model} {thinking:?} {effort:?}");
        }
        let off = |field: &str, amount: Value| Some(json!({"includeThoughts": false, field: amount}));
        assert_eq!(said("gemini-2.5-flash", Thinking::Disabled, None), off("thinkingBudget", json!(0)));
        assert_eq!(said("gemini-2.5-pro", Thinking::Disabled, None), off("thinkingBudget", json!(128)));
        assert_eq!(
            said("gemini-3.5-flash", Thinking::Disabled, None),
            off("thinkingLevel", json!("minimal"))
        );
        assert_eq!(
            said("gemini-3-pro-preview", Thinking::Disabled, None),
            off("thinkingLevel", json!("low"))
        );
    }
}
