//! Token counts, as the API splits them.

use robota_core::Usage;
use serde::Deserialize;

use crate::counts::count;

/// The counts of an answer so far; those of the prompt come with every chunk.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    #[serde(default, deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
}

impl UsageMetadata {
    /// Takes the counts of a later chunk, which may leave out what was said before.
    pub(super) fn take(&mut self, later: Self) {
        self.prompt_token_count = later.prompt_token_count.or(self.prompt_token_count);
        self.cached_content_token_count =
            later.cached_content_token_count.or(self.cached_content_token_count);
        self.candidates_token_count = later.candidates_token_count.or(self.candidates_token_count);
        self.thoughts_token_count = later.thoughts_token_count.or(self.thoughts_token_count);
        self.tool_use_prompt_token_count =
            later.tool_use_prompt_token_count.or(self.tool_use_prompt_token_count);
    }

    /// The same in neutral terms: the prompt without what was cached, the output with the thinking.
    pub(super) fn neutral(&self) -> Usage {
        let [prompt, cached, answer, thoughts, tools] = [
            self.prompt_token_count,
            self.cached_content_token_count,
            self.candidates_token_count,
            self.thoughts_token_count,
            self.tool_use_prompt_token_count,
        ]
        .map(Option::unwrap_or_default);
        Usage {
            input_tokens: prompt.saturating_sub(cached).saturating_add(tools),
            output_tokens: answer.saturating_add(thoughts),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        }
    }
}
