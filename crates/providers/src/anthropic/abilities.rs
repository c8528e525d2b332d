//! What the models of the vendor can do, as far as requests depend on it.

use robota_core::Effort;

/// How a model can be made to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingForm {
    /// Not at all.
    None,
    /// Up to a number of tokens.
    Budget,
    /// Up to a number of tokens, or as much as it finds right.
    Either,
    /// As much as it finds right.
    Adaptive,
}

/// How a model is kept from thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingOff {
    /// It is said.
    Disabled,
    /// By asking for nothing; saying it is refused by some.
    Unasked,
    /// It can only be told to think no more than between calls.
    BetweenTools,
}

/// What one model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abilities {
    pub(super) thinking: ThinkingForm,
    pub(super) thinking_off: ThinkingOff,
    /// The levels of effort that it knows.
    pub(super) efforts: &'static [Effort],
    /// It keeps to a schema.
    pub(super) format: bool,
    /// It can use the web tools of the service.
    pub(super) web_tools: bool,
}

const ALL: &[Effort] = &Effort::ALL;
const NO_XHIGH: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];
const UP_TO_HIGH: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High];

/// What is assumed of models with other names: those that gateways and other vendors offer through this API.
const UNKNOWN: Abilities = Abilities {
    thinking: ThinkingForm::Budget,
    thinking_off: ThinkingOff::Disabled,
    efforts: UP_TO_HIGH,
    format: true,
    web_tools: true,
};

impl Abilities {
    /// What `model` can do, by family and version in its name, wherever a gateway puts them.
    pub(super) fn of(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let Some(name) = model.find("claude").and_then(|at| model.get(at..)) else { return UNKNOWN };
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let is = |family: &str| words.contains(&family);
        let version = version(&words);
        if is("fable") || is("mythos") {
            return Self {
                thinking: ThinkingForm::Adaptive,
                thinking_off: ThinkingOff::Unasked,
                efforts: if version.is_some() { ALL } else { NO_XHIGH },
                ..UNKNOWN
            };
        }
        let Some(version) = version else { return UNKNOWN };
        Self {
            thinking: match version {
                (4, 7..) | (5.., _) => ThinkingForm::Adaptive,
                (4, 6) => ThinkingForm::Either,
                (4, _) | (3, 7..) => ThinkingForm::Budget,
                _ => ThinkingForm::None,
            },
            thinking_off: match version {
                (5, 5..) | (6.., _) if is("sonnet") => ThinkingOff::BetweenTools,
                (5, 5..) | (6.., _) if is("opus") => ThinkingOff::Unasked,
                // They think only when asked to.
                (4, 7..) | (..=3, _) => ThinkingOff::Unasked,
                _ => ThinkingOff::Disabled,
            },
            efforts: match version {
                (4, 7..) | (5.., _) => ALL,
                (4, 6) => NO_XHIGH,
                (4, 5) if is("opus") => UP_TO_HIGH,
                _ => &[],
            },
            format: version >= (4, 5) || (version == (4, 1) && is("opus")),
            web_tools: version >= (3, 5),
        }
    }

    /// The highest level that the model knows and that is no higher than `wanted`.
    pub(super) fn effort(&self, wanted: Effort) -> Option<Effort> {
        self.efforts.iter().rev().copied().find(|known| *known <= wanted)
    }
}

/// The version in the name: the first number, and the one right behind it. Dates are no versions.
fn version(words: &[&str]) -> Option<(u8, u8)> {
    let number = |word: &&str| if word.len() <= 2 { word.parse::<u8>().ok() } else { None };
    let (at, major) = words.iter().enumerate().find_map(|(at, word)| Some((at, number(word)?)))?;
    Some((major, words.get(at + 1).and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_family_and_version() {
        use ThinkingForm as Form;
        use ThinkingOff as Off;
        let expected: [(&str, Form, Off, &[Effort], bool); 13] = [
            ("claude-3-haiku-20240307", Form::None, Off::Unasked, &[], false),
            ("claude-3-7-sonnet-latest", Form::Budget, Off::Unasked, &[], false),
            ("claude-sonnet-4-20250514", Form::Budget, Off::Disabled, &[], false),
            ("claude-opus-4-1-20250805", Form::Budget, Off::Disabled, &[], true),
            ("claude-haiku-4-5", Form::Budget, Off::Disabled, &[], true),
            ("Claude-Opus-4.5", Form::Budget, Off::Disabled, UP_TO_HIGH, true),
            ("us.anthropic.claude-sonnet-4-6-v1:0", Form::Either, Off::Disabled, NO_XHIGH, true),
            ("anthropic/claude-opus-4.8", Form::Adaptive, Off::Unasked, ALL, true),
            ("claude-sonnet-5", Form::Adaptive, Off::Disabled, ALL, true),
            ("claude-sonnet-5-5", Form::Adaptive, Off::BetweenTools, ALL, true),
            ("claude-opus-5-5@20261001", Form::Adaptive, Off::Unasked, ALL, true),
            ("claude-mythos-preview", Form::Adaptive, Off::Unasked, NO_XHIGH, true),
            ("kimi-k2-0905", Form::Budget, Off::Disabled, UP_TO_HIGH, true),
        ];
        for (model, thinking, thinking_off, efforts, format) in expected {
            let web_tools = model != "claude-3-haiku-20240307";
            let expected = Abilities { thinking, thinking_off, efforts, format, web_tools };
            assert_eq!(Abilities::of(model), expected, "{model}");
        }
    }

    #[test]
    fn a_level_that_a_model_lacks_becomes_the_next_lower_one() {
        let level = |model, wanted| Abilities::of(model).effort(wanted);
        assert_eq!(level("claude-opus-4-6", Effort::XHigh), Some(Effort::High));
        assert_eq!(level("claude-opus-4-6", Effort::Max), Some(Effort::Max));
        assert_eq!(level("claude-opus-4-5", Effort::Max), Some(Effort::High));
        assert_eq!(level("claude-opus-5", Effort::XHigh), Some(Effort::XHigh));
        assert_eq!(level("claude-sonnet-4-5", Effort::Low), None);
    }
}
