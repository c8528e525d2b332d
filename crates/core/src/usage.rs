//! Token counts of model calls.

use serde::{Deserialize, Serialize};

/// Tokens that one or more model calls used, as the provider counted them.
///
/// `input_tokens` excludes what was read from or written to the provider's prompt cache, as in
/// Anthropic's Messages API; adapters of other APIs subtract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Uncached input tokens.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write_tokens: u64,
}

impl Usage {
    /// All input tokens: uncached, read from the cache and written to it.
    #[must_use]
    pub const fn total_input(&self) -> u64 {
        self.input_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }

    /// Input and output together: what the context holds after the call.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output_tokens)
    }

    /// True when the provider reported nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total() == 0
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
    }
}
