//! How much a model reasons: what the request asks for, in the levels that the model has.

use robota_core::{Effort, ModelRequest, Thinking};
use serde_json::{Map, Value};

use super::dialect::Spoken;
use super::web_tools::WEB_EXTRACTOR;
use super::{Settings, is_openai};
use crate::ProviderKind;

/// The levels of `reasoning.effort`, the lowest first.
const LEVELS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const NONE: usize = 0;
const MINIMAL: usize = 1;
const LOW: usize = 2;
const MEDIUM: usize = 3;
const HIGH: usize = 4;
const XHIGH: usize = 5;
const MAX: usize = 6;

/// Whether and how much a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reasons {
    /// Not at all, and it refuses to be asked.
    Never,
    /// Between these levels.
    Between(usize, usize),
    /// The name does not tell: a deployment, or a model of somebody else.
    Perhaps,
}

/// What `model` can do, by its name.
pub(super) fn of(model: &str) -> Reasons {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let is = |kind: &str| name.contains(kind);
    if name.starts_with("gpt-oss") || name.starts_with("codex-") {
        return Reasons::Between(LOW, HIGH);
    }
    if ["o1", "o3", "o4"].iter().any(|series| name.starts_with(series)) {
        return Reasons::Between(LOW, HIGH);
    }
    if name.starts_with("chatgpt-") || is("gpt-5-chat") {
        return Reasons::Never;
    }
    let Some((major, minor)) = name.strip_prefix("gpt-").map(version) else { return Reasons::Perhaps };
    match (major, minor) {
        (3 | 4, _) => Reasons::Never,
        (5, 0) if is("codex") => Reasons::Between(LOW, HIGH),
        (5, 0) if is("pro") => Reasons::Between(HIGH, HIGH),
        (5, 0) => Reasons::Between(MINIMAL, HIGH),
        (5, 1) if is("codex-max") => Reasons::Between(LOW, XHIGH),
        (5, 1) if is("codex") => Reasons::Between(LOW, HIGH),
        (5, 1) => Reasons::Between(NONE, HIGH),
        (5, 2..=5) if is("pro") => Reasons::Between(MEDIUM, XHIGH),
        (5, 2..=5) if is("codex") => Reasons::Between(LOW, XHIGH),
        (5, 2..=5) => Reasons::Between(NONE, XHIGH),
        (5.., _) => Reasons::Between(NONE, MAX),
        _ => Reasons::Perhaps,
    }
}

/// `5.2-codex` as 5 and 2.
fn version(text: &str) -> (u32, u32) {
    let number = |text: &str| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    (number(text), text.split_once('.').map_or(0, |(_, minor)| number(minor)))
}

/// Adds what sets how the model of `request` reasons. `web_tools` are those that the
/// service runs for it.
pub(super) fn push(
    fields: &mut Map<String, Value>,
    request: &ModelRequest,
    settings: &Settings,
    spoken: Spoken,
    web_tools: &[&str],
) {
    let thinking = if request.thinking == Thinking::Default { settings.thinking } else { request.thinking };
    if settings.kind == ProviderKind::Qwen {
        // Its fetching of pages wants a model that thinks.
        let on = match thinking {
            Thinking::Disabled => Some(false),
            Thinking::Default => web_tools.contains(&WEB_EXTRACTOR).then_some(true),
            _ => Some(true),
        };
        fields.extend(on.map(|on| ("enable_thinking".to_owned(), Value::from(on))));
        return;
    }
    let reasons = of(&request.model);
    if reasons == Reasons::Never {
        return;
    }
    let mut reasoning = Map::new();
    if let Some(level) = level(reasons, request.effort.or(settings.effort), thinking, !web_tools.is_empty())
        && spoken.effort
    {
        reasoning.insert("effort".to_owned(), level.into());
    }
    // Other servers show all of the reasoning, or nothing.
    let summarises = is_openai(settings.kind) && thinking != Thinking::Disabled;
    if summarises && spoken.summary {
        reasoning.insert("summary".to_owned(), "auto".into());
    }
    if !reasoning.is_empty() {
        fields.insert("reasoning".to_owned(), reasoning.into());
    }
}

/// The level to ask for; `None` leaves it to the model. Thinking that is switched off means the lowest there is.
fn level(
    reasons: Reasons,
    effort: Option<Effort>,
    thinking: Thinking,
    searches: bool,
) -> Option<&'static str> {
    let (lowest, highest) = match reasons {
        Reasons::Between(lowest, highest) => (lowest, highest),
        _ => (NONE, HIGH),
    };
    // Searching is refused where the least effort is `minimal`.
    let lowest = if searches && lowest == MINIMAL { LOW } else { lowest };
    let level = match (thinking, effort) {
        (Thinking::Disabled, _) => NONE,
        (_, Some(effort)) => at(effort),
        (Thinking::Budget(tokens), None) => match tokens {
            0 => NONE,
            1..=4_096 => LOW,
            4_097..=16_384 => MEDIUM,
            _ => HIGH,
        },
        _ => return None,
    };
    LEVELS.get(level.clamp(lowest, highest)).copied()
}

const fn at(effort: Effort) -> usize {
    match effort {
        Effort::Low => LOW,
        Effort::Medium => MEDIUM,
        Effort::High => HIGH,
        Effort::XHigh => XHIGH,
        Effort::Max => MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(model: &str, effort: Effort) -> Option<&'static str> {
        level(of(model), Some(effort), Thinking::Default, false)
    }

    #[test]
    fn an_effort_is_the_nearest_that_the_model_has() {
        for (model, low, max, off) in [
            ("o3", "low", "high", "low"),
            ("gpt-5-mini-2025-08-07", "low", "high", "minimal"),
            ("gpt-5-pro", "high", "high", "high"),
            ("gpt-5.1", "low", "high", "none"),
            ("gpt-5.1-codex-max", "low", "xhigh", "low"),
            ("openai/gpt-5.4", "low", "xhigh", "none"),
            ("GPT-5.6-sol", "low", "max", "none"),
            ("gpt-oss-20b", "low", "high", "low"),
            ("my-deployment", "low", "high", "none"),
        ] {
            assert_eq!(asked(model, Effort::Low), Some(low), "{model}");
            assert_eq!(asked(model, Effort::Max), Some(max), "{model}");
            let disabled = level(of(model), Some(Effort::High), Thinking::Disabled, false);
            assert_eq!(disabled, Some(off), "{model}");
        }
        for model in ["gpt-4.1", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-5-chat-latest"] {
            assert_eq!(of(model), Reasons::Never, "{model}");
        }
        assert_eq!(level(of("gpt-5"), None, Thinking::Adaptive, false), None);
        assert_eq!(level(of("gpt-5"), None, Thinking::Budget(8_000), false), Some("medium"));
        assert_eq!(level(of("gpt-5"), None, Thinking::Disabled, true), Some("low"));
    }
}
