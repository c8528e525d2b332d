//! Web tools that a provider runs by itself.

use serde::{Deserialize, Serialize};

/// Which web tools of a provider are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct NativeWebTools {
    /// Searching the web.
    pub web_search: bool,
    /// Fetching pages.
    pub web_fetch: bool,
}

impl NativeWebTools {
    /// Both of them.
    pub const ALL: Self = Self { web_search: true, web_fetch: true };

    /// Whether none is meant.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.web_search && !self.web_fetch
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { web_search: self.web_search && other.web_search, web_fetch: self.web_fetch && other.web_fetch }
    }
}

/// What a provider has in web tools of its own, and which are on (facts sheet 9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "plain data that providers build")]
pub struct NativeWebToolsReport {
    /// Searching the web.
    pub web_search: NativeWebTool,
    /// Fetching pages.
    pub web_fetch: NativeWebTool,
}

/// One web tool of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::exhaustive_structs, reason = "plain data that providers build")]
pub struct NativeWebTool {
    /// The provider has it.
    pub supported: bool,
    /// It is on.
    pub enabled: bool,
    /// What runs it, such as `web_search_20250305`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why it is not on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl NativeWebToolsReport {
    /// The report of a provider that has none.
    #[must_use]
    pub fn unsupported() -> Self {
        let none = NativeWebTool {
            reason: Some("the provider has no such tool".to_owned()),
            ..NativeWebTool::default()
        };
        Self { web_search: none.clone(), web_fetch: none }
    }

    /// Those that are on.
    #[must_use]
    pub const fn enabled(&self) -> NativeWebTools {
        NativeWebTools { web_search: self.web_search.enabled, web_fetch: self.web_fetch.enabled }
    }
}
