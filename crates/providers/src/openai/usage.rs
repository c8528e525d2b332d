//! Token counts, wherever a server puts them (protocols F4, quirk 9).

use robota_core::Usage;
use serde::Deserialize;

use crate::counts::count;

/// Counts as they are sent.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for what was cached.
    #[serde(default, deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    /// Moonshot's.
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(default, alias = "cache_creation_input_tokens", deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

impl WireUsage {
    /// The counts in the terms of the crate.
    pub(super) fn counts(self) -> Usage {
        let prompt = self.prompt_tokens.unwrap_or(0);
        let details = self.prompt_tokens_details;
        let cached = details.and_then(|details| details.cached_tokens).filter(|tokens| *tokens > 0);
        let read = cached.or(self.prompt_cache_hit_tokens).or(self.cached_tokens).unwrap_or(0).min(prompt);
        let written = details.and_then(|details| details.cache_write_tokens).unwrap_or(0).min(prompt - read);
        Usage {
            input_tokens: prompt - read - written,
            output_tokens: self.output(prompt),
            cache_read_tokens: read,
            cache_write_tokens: written,
        }
    }

    /// Thinking is part of the output; some servers count it beside it, which the total gives away.
    fn output(self, prompt: u64) -> u64 {
        let answer = self.completion_tokens.unwrap_or(0);
        let thinking =
            self.completion_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0);
        let both = answer.saturating_add(thinking);
        if self.total_tokens == Some(prompt.saturating_add(both)) { both } else { answer }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cached_tokens_and_thinking_are_found_under_every_name() {
        let counts = |usage: serde_json::Value| {
            let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } =
                serde_json::from_value::<WireUsage>(usage).unwrap().counts();
            (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)
        };
        let openai = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 15}});
        assert_eq!(counts(openai), (40, 20, 60, 0));
        let deepseek = json!({"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36});
        assert_eq!(counts(deepseek), (36, 20, 64, 0));
        assert_eq!(
            counts(json!({"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 4})),
            (6, 1, 4, 0)
        );
        let xai = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45, "completion_tokens_details": {"reasoning_tokens": 30}});
        assert_eq!(counts(xai), (10, 35, 0, 0));
        let openrouter = json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}});
        assert_eq!(counts(openrouter), (5, 5, 2, 3));
        assert_eq!(counts(json!({"prompt_tokens": 1, "cached_tokens": 9})), (0, 0, 1, 0));
    }
}
