//! Why no provider could be decided on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use robota_core::ProviderDefinition;

use crate::settings::ProviderProfile;

/// What is missing for a model to be called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderSetupError {
    /// Neither flags nor settings nor environment name a provider.
    #[error("no model provider is set up: no API key in the environment and no provider in the settings")]
    NoProvider,
    /// The name is neither a profile nor a built-in type.
    #[error("there is no provider `{name}`{}", if *in_settings { ", which the setting `currentProvider` names" } else { "" })]
    Unknown {
        /// The name.
        name: String,
        /// It stands in `currentProvider`, rather than in a flag or variable.
        in_settings: bool,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The profile does not say which implementation it is for.
    #[error("the provider profile `{name}` has no `type`")]
    NoType {
        /// The profile.
        name: String,
        /// The files that describe it.
        files: Vec<PathBuf>,
        /// The types there are.
        known: Vec<&'static str>,
    },
    /// The profile is for an implementation that is not there.
    #[error("the provider profile `{name}` has the type `{kind}`, which there is not")]
    UnknownType {
        /// The profile.
        name: String,
        /// Its type.
        kind: String,
        /// The files that describe it.
        files: Vec<PathBuf>,
        /// The types there are.
        known: Vec<&'static str>,
    },
    /// The profile refers to a keyring in words that mean nothing.
    #[error("the key of the provider profile `{name}` is `{reference}`, which names no entry of a keyring")]
    InvalidReference {
        /// The profile.
        name: String,
        /// What stands there.
        reference: String,
    },
    /// The profile refers to a variable that is not set.
    #[error(
        "the provider profile `{name}` takes its key from the environment variable {variable}, which is not set"
    )]
    UnsetVariable {
        /// The profile.
        name: String,
        /// The variable.
        variable: String,
    },
    /// There is no key for the provider.
    #[error("the provider `{name}` has no API key")]
    NoKey {
        /// The profile or type.
        name: String,
        /// The variable that could hold the key.
        variable: Option<&'static str>,
        /// The profile has an address of its own, to which the vendor's key is not sent.
        foreign: bool,
    },
    /// Nothing names a model, and the type has no default.
    #[error("no model is named for the provider `{name}`")]
    NoModel {
        /// The profile or type.
        name: String,
    },
    /// The `options` of the profile cannot be used.
    #[error("the provider `{name}`: {problem}")]
    InvalidOptions {
        /// The profile.
        name: String,
        /// What is wrong with them.
        problem: String,
        /// The files that describe the profile.
        files: Vec<PathBuf>,
    },
    /// A variable holds something that is no address.
    #[error("{variable} is `{value}`, which is no address beginning with http:// or https://")]
    InvalidAddress {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
}

impl ProviderSetupError {
    pub(super) fn unknown(
        name: &str,
        in_settings: bool,
        profiles: &BTreeMap<String, ProviderProfile>,
        definitions: &[ProviderDefinition],
    ) -> Self {
        let mut known: Vec<String> = profiles.keys().cloned().collect();
        if !in_settings {
            known.extend(definitions.iter().map(|definition| definition.kind.to_owned()));
        }
        Self::Unknown { name: name.to_owned(), in_settings, known }
    }

    /// What to do about it, in one or more lines.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoProvider => FIRST_STEPS.to_owned(),
            Self::Unknown { name, known, .. } if known.is_empty() => {
                format!("describe `{name}` under `providers` in the settings, or remove `currentProvider`")
            }
            Self::Unknown { known, .. } => format!("use one of: {}", known.join(", ")),
            Self::NoType { name, files, known } => {
                in_last(files, format!("add \"type\" to `providers.{name}`, one of {}", known.join(", ")))
            }
            Self::UnknownType { files, known, .. } => {
                in_last(files, format!("use one of {}", known.join(", ")))
            }
            Self::InvalidReference { name, .. } => {
                format!("write \"$KEYRING:service/account\" for \"apiKey\" of `providers.{name}`")
            }
            Self::InvalidOptions { files, .. } => in_last(files, "correct the profile".to_owned()),
            Self::UnsetVariable { variable, .. } => {
                format!("set {variable}, or choose another provider with --provider")
            }
            Self::NoKey { name, foreign: true, .. } => {
                format!(
                    "add \"apiKey\" to `providers.{name}` in the settings, for example \"$ENV:MY_KEY\"; \
                     a profile with an address of its own is not sent the vendor's key"
                )
            }
            Self::NoKey { name, variable: Some(variable), .. } => {
                format!("set {variable}, or add \"apiKey\" to `providers.{name}` in the settings")
            }
            Self::NoKey { name, .. } => format!("add \"apiKey\" to `providers.{name}` in the settings"),
            Self::NoModel { .. } => {
                "give --model, set ROBOTA_MODEL, or add \"model\" to the profile".to_owned()
            }
            Self::InvalidAddress { variable, .. } => format!("correct {variable} or unset it"),
        }
    }
}

/// Advice on a profile, with the highest of the files that describe it.
fn in_last(files: &[PathBuf], mut hint: String) -> String {
    if let Some(file) = files.last() {
        let _ = write!(hint, " in {}", file.display());
    }
    hint
}

impl From<ProviderSetupError> for robota_core::Error {
    fn from(error: ProviderSetupError) -> Self {
        Self::new(robota_core::ErrorKind::Configuration, error.to_string())
            .with_hint(error.hint())
            .with_source(error)
    }
}

const FIRST_STEPS: &str = r#"do one of these:
  - set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or the key of another provider
  - describe a provider in ~/.robota/settings.json:
      {
        "currentProvider": "local",
        "providers": {"local": {"type": "ollama", "model": "qwen3"}}
      }
  - run `robota demo`, which needs no key"#;
