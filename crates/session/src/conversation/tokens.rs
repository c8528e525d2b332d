//! What the conversation has cost so far, and what the provider still allows.

use robota_core::Usage;
use serde::{Deserialize, Serialize};

use super::{Conversation, lock};

/// Tokens of a conversation (facts sheet 12.1, `TokenUsageInfo`). Counts stop at their largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenInfo {
    /// Uncached input tokens.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// All tokens, those told without a breakdown too.
    pub total_tokens: u64,
    /// Input tokens written to the prompt cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_input_tokens: u64,
    /// Input tokens read from the prompt cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_input_tokens: u64,
}

impl Conversation {
    /// Counts tokens of which no more is known, for the conversation and for the active turn.
    pub fn add_token_usage(&self, tokens: u64) {
        lock(&self.ledger).tokens.get_or_insert_default().add_total(tokens);
        self.add_turn_tokens(tokens);
        self.touch();
    }

    /// Counts the tokens of a model call, for the conversation and for the active turn.
    pub fn record_usage(&self, usage: &Usage) {
        let tokens = lock(&self.ledger).tokens.get_or_insert_default().add_usage(usage);
        self.add_turn_tokens(tokens);
        self.touch();
    }

    /// The tokens counted so far; `None` when none ever were. After a resume, those of the model calls in the
    /// log are among them.
    #[must_use]
    pub fn token_info(&self) -> Option<TokenInfo> {
        lock(&self.ledger).tokens
    }

    /// Notes what the provider last said about its limits.
    pub fn set_rate_limits(&self, limits: RateLimits) {
        lock(&self.ledger).limits = Some(limits);
        self.touch();
    }

    /// What the provider last said about its limits.
    #[must_use]
    pub fn rate_limits(&self) -> Option<RateLimits> {
        lock(&self.ledger).limits.clone()
    }
}

impl TokenInfo {
    /// Adds tokens of which no more is known, and returns how many they are.
    pub(super) fn add_total(&mut self, tokens: u64) -> u64 {
        self.total_tokens = self.total_tokens.saturating_add(tokens);
        tokens
    }

    /// The tokens of which is known what they were.
    pub(crate) const fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
        }
    }

    /// Adds the tokens of a model call, and returns how many they are.
    pub(super) fn add_usage(&mut self, usage: &Usage) -> u64 {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = *usage;
        let add = |count: &mut u64, tokens: u64| *count = count.saturating_add(tokens);
        add(&mut self.input_tokens, input_tokens);
        add(&mut self.output_tokens, output_tokens);
        add(&mut self.cache_read_input_tokens, cache_read_tokens);
        add(&mut self.cache_creation_input_tokens, cache_write_tokens);
        let total = input_tokens.saturating_add(output_tokens).saturating_add(cache_read_tokens);
        self.add_total(total.saturating_add(cache_write_tokens))
    }
}

/// What the provider last said about its limits (facts sheet 12.1). What it did not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::exhaustive_structs, reason = "plain data of the export format")]
pub struct RateLimits {
    /// Requests allowed in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_requests: Option<u64>,
    /// Tokens allowed in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// Requests left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_requests: Option<u64>,
    /// Tokens left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_tokens: Option<u64>,
    /// When requests are counted anew, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_requests: Option<String>,
    /// When tokens are counted anew, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_tokens: Option<String>,
}

/// Tokens and limits, `None` until something was told of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub(super) tokens: Option<TokenInfo>,
    pub(super) limits: Option<RateLimits>,
}

impl Ledger {
    /// The ledger of a conversation whose model calls took `usage` before it was opened again.
    pub(super) fn after(usage: &Usage) -> Self {
        let mut ledger = Self::default();
        if !usage.is_empty() {
            ledger.tokens.get_or_insert_default().add_usage(usage);
        }
        ledger
    }
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}
