//! The process environment as a value, and the table of variables that robota knows.
//!
//! The composition root reads the environment once and hands it over; nothing in the libraries looks
//! it up. Code asks by entries of the table, so the table that is documented is the one that is used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A variable that robota reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What setting it does, in one sentence for a person.
    pub meaning: &'static str,
}

macro_rules! variables {
    ($($name:ident: $meaning:literal,)*) => {
        impl Variable {
            $(
                #[doc = $meaning]
                pub const $name: Self = Self { name: stringify!($name), meaning: $meaning };
            )*

            /// Every variable that robota reads, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

variables! {
    ROBOTA_PROVIDER: "Provider to use: a profile of the settings, `anthropic` or `openai`; `--provider` wins over it.",
    ROBOTA_MODEL: "Model to use; `--model` wins over it.",
    ROBOTA_PERMISSION_MODE: "Permission mode to start in; `--permission-mode` wins over it.",
    ROBOTA_MAX_RETRIES: "How often a failed model call is repeated, from 0 to 20, instead of 4 times.",
    ROBOTA_HOME: "Folder of the user's settings and sessions, instead of `~/.robota`.",
    ANTHROPIC_API_KEY: "Key of the Anthropic API.",
    ANTHROPIC_AUTH_TOKEN: "Bearer token for the Anthropic API or a gateway, used when ANTHROPIC_API_KEY is not set.",
    ANTHROPIC_BASE_URL: "Address to use instead of the Anthropic API.",
    ANTHROPIC_MODEL: "Model of Anthropic providers that name none.",
    OPENAI_API_KEY: "Key of the OpenAI API.",
    OPENAI_BASE_URL: "Address of an OpenAI-compatible service to use instead of the OpenAI API.",
    OPENAI_MODEL: "Model of OpenAI providers that name none.",
    BRAVE_API_KEY: "Key of the Brave Search API, with which WebSearch works.",
    TAVILY_API_KEY: "Key of the Tavily API, with which WebSearch works where BRAVE_API_KEY is not set.",
    SEARXNG_URL: "Address of a SearXNG instance, with which WebSearch works where neither key is set.",
}

/// The environment of a process, as it was when it was captured.
///
/// `Debug` shows the names alone: values are often secrets.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The value of `variable` without white space around it; `None` when it is blank or not UTF-8.
    #[must_use]
    pub fn get(&self, variable: Variable) -> Option<&str> {
        self.lookup(variable.name)
    }

    /// The value of the variable called `name`, for references such as `$ENV:NAME`.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<&str> {
        let value = self.0.get(&OsString::from(name))?.to_str()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The value of `variable` as a path; paths need not be UTF-8.
    #[must_use]
    pub fn path(&self, variable: Variable) -> Option<PathBuf> {
        let value = self.0.get(&OsString::from(variable.name))?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    }
}

impl Environment {
    /// Sets `variable`.
    pub(crate) fn set(&mut self, variable: Variable, value: &str) {
        self.0.insert(variable.name.into(), value.into());
    }

    /// Names and values, for the environment of children.
    pub fn pairs(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone()))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment").field(&self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_values_count_as_unset_and_debug_hides_values() {
        let environment = Environment::from_iter([("ANTHROPIC_API_KEY", "sk-1\n"), ("OPENAI_API_KEY", " ")]);
        assert_eq!(environment.get(Variable::ANTHROPIC_API_KEY), Some("sk-1"));
        assert_eq!(environment.get(Variable::OPENAI_API_KEY), None);
        assert_eq!(format!("{environment:?}"), r#"Environment(["ANTHROPIC_API_KEY", "OPENAI_API_KEY"])"#);
    }
}
