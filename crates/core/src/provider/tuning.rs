//! How much a model thinks, and in what form it answers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much effort a model puts into an answer (facts sheet 2.4). Providers without such levels take the nearest they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the levels of the facts sheet; providers map all of them")]
pub enum Effort {
    /// Quick and cheap.
    Low,
    /// In between.
    Medium,
    /// Thorough.
    High,
    /// More than that.
    XHigh,
    /// As much as the model can.
    Max,
}

impl Effort {
    /// All levels, the lowest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// As users and APIs write it: `low`, `medium`, `high`, `xhigh`, `max`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no effort.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no effort; there are low, medium, high, xhigh and max")]
pub struct UnknownEffort(String);

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(name: &str) -> Result<Self, UnknownEffort> {
        let known = Self::ALL.into_iter().find(|effort| effort.name() == name);
        known.ok_or_else(|| UnknownEffort(name.to_owned()))
    }
}

/// Whether a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Thinking {
    /// As the model does unasked.
    #[default]
    Default,
    /// Not at all, where it can be switched off.
    Disabled,
    /// As much as it finds right.
    Adaptive,
    /// With at most so many tokens.
    Budget(u32),
}

impl Thinking {
    /// Whether it is left to the model.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        matches!(self, Self::Default)
    }
}

/// The form an answer has to have: JSON after a schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResponseFormat {
    /// What the form is called: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema; an object.
    pub schema: Arc<Value>,
}

impl ResponseFormat {
    /// The form `name` after `schema`.
    #[must_use]
    pub fn new(name: impl Into<String>, schema: impl Into<Arc<Value>>) -> Self {
        Self { name: name.into(), schema: schema.into() }
    }
}
