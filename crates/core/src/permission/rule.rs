//! Permission rules: `Tool` or `Tool(pattern)`.

/// One rule, as written in settings or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    text: String,
}

/// A rule that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a permission rule: {reason}")]
pub struct InvalidRule {
    text: String,
    reason: String,
}

impl std::str::FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { text: text.to_owned() })
    }
}

/// The rules in force, joined over all layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct RuleSet {
    /// What never runs.
    pub deny: Vec<Rule>,
    /// What is always asked for.
    pub ask: Vec<Rule>,
    /// What runs without asking.
    pub allow: Vec<Rule>,
}
