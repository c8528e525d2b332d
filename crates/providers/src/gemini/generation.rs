//! What models of the family can do, by their generation.

/// The generation of a model, as far as requests differ between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// No Gemini, or a name that does not tell.
    Unknown,
    /// 2.0 and before: models that do not think.
    Early,
    /// 2.5: thinks within a budget of tokens.
    TwoFive,
    /// 3 and later: thinks on a level, and wants the proof of its thinking back.
    Three,
}

impl Generation {
    /// The generation of `model`, by its name.
    pub(super) fn of(model: &str) -> Self {
        let model = model.rsplit('/').next().unwrap_or_default();
        let Some(rest) = model.strip_prefix("gemini-") else { return Self::Unknown };
        let version = rest.split('-').next().unwrap_or_default();
        match version.parse::<f32>() {
            Ok(version) if version >= 3.0 => Self::Three,
            Ok(version) if version >= 2.5 => Self::TwoFive,
            Ok(_) => Self::Early,
            // `gemini-flash-latest` and the like.
            Err(_) if rest.ends_with("-latest") => Self::Three,
            Err(_) => Self::Unknown,
        }
    }

    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Early => 1,
            Self::TwoFive => 2,
            Self::Three => 3,
        }
    }

    /// Whether calls without the proof of the thinking before them are refused.
    pub(super) fn demands_signatures(self) -> bool {
        self == Self::Three
    }

    /// Whether what tools return may hold images and documents.
    pub(super) fn reads_media_in_results(self) -> bool {
        self == Self::Three
    }

    /// Whether functions go together with tools of the service, and with a form of the answer.
    pub(super) fn combines_tools(self) -> bool {
        self == Self::Three
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_generation() {
        for (model, generation) in [
            ("gemini-3-pro-preview", Generation::Three),
            ("models/gemini-3.1-flash-lite", Generation::Three),
            ("gemini-flash-latest", Generation::Three),
            ("gemini-2.5-pro", Generation::TwoFive),
            ("gemini-2.0-flash", Generation::Early),
            ("gemini-1.5-pro-latest", Generation::Early),
            ("gemini-robotics-er", Generation::Unknown),
            ("gemma-3-27b-it", Generation::Unknown),
            ("", Generation::Unknown),
        ] {
            assert_eq!(Generation::of(model), generation, "{model}");
        }
    }
}
