//! What models can hold and what they cost.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::Usage;

/// The limits assumed for a model that the table does not know (facts sheet 2.8): window and output
/// of Claude models, and of all others, whose makers promise less.
const UNKNOWN_CLAUDE: (u64, u64) = (200_000, 16_384);
const UNKNOWN_OTHER: (u64, u64) = (128_000, 8_192);

/// Limits and prices of models, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    entries: Vec<Entry>,
}

/// Limits and prices of one model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The id that was asked for.
    pub id: String,
    /// The most tokens a request and its answer may have together.
    pub context_window: u64,
    /// The most tokens of one answer.
    pub max_output_tokens: u64,
    /// What it costs; `None` when that is not known.
    pub prices: Option<ModelPrices>,
    /// Whether the table knows the model. Otherwise the limits are careful guesses.
    pub known: bool,
}

/// List prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelPrices {
    /// Uncached input.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the provider's prompt cache.
    pub cache_read: f64,
    /// Input written to the cache; `None` where writing costs what input costs.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// A text that is not a model table.
#[derive(Debug, thiserror::Error)]
#[error("the model table cannot be read")]
pub struct InvalidModelTable(#[from] serde_json::Error);

impl ModelTable {
    /// The table that ships with this version, with list prices.
    pub fn builtin() -> &'static Self {
        static TABLE: OnceLock<ModelTable> = OnceLock::new();
        // A test reads the shipped text; were it broken, every model would be an unknown one.
        TABLE.get_or_init(|| {
            Self::from_json(include_str!("models.json")).unwrap_or(Self { entries: Vec::new() })
        })
    }

    /// Reads a table in the format of the shipped one: `{"models": [{"id", "context", "output",
    /// "aliases"?, "family"?, "price"?}]}`. With `family`, an entry is about every model whose id
    /// begins with its own.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or an entry lacks a field or has one with another name.
    pub fn from_json(text: &str) -> Result<Self, InvalidModelTable> {
        let file: File = serde_json::from_str(text)?;
        Ok(Self { entries: file.models })
    }

    /// What is known about `model`, by the entry with the longest name that fits. Case, the path of
    /// a router (`anthropic/…`, `us.anthropic.…`), and dates, tags and versions behind the name do
    /// not matter. Unknown models get careful limits and no prices.
    #[must_use]
    pub fn lookup(&self, model: &str) -> ModelInfo {
        let id = model.to_ascii_lowercase();
        let name = id.rsplit('/').next().unwrap_or(&id);
        let name = name.find("claude-").and_then(|at| name.get(at..)).unwrap_or(name);
        let fitting = self.entries.iter().flat_map(|entry| {
            let names = entry.aliases.iter().chain([&entry.id]);
            names.filter(move |known| entry.is_about(known, name)).map(move |known| (known.len(), entry))
        });
        match fitting.max_by_key(|(length, _)| *length) {
            Some((_, entry)) => ModelInfo {
                id: model.to_owned(),
                context_window: entry.context,
                max_output_tokens: entry.output,
                prices: entry.price,
                known: true,
            },
            None => {
                let limits = if name.starts_with("claude") { UNKNOWN_CLAUDE } else { UNKNOWN_OTHER };
                let (context_window, max_output_tokens) = limits;
                ModelInfo {
                    id: model.to_owned(),
                    context_window,
                    max_output_tokens,
                    prices: None,
                    known: false,
                }
            }
        }
    }
}

impl ModelInfo {
    /// What `usage` costs in US dollars at list prices; `None` when the prices are not known.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        const MILLION: f64 = 1_000_000.0;
        let prices = self.prices?;
        let parts = [
            (usage.input_tokens, prices.input),
            (usage.output_tokens, prices.output),
            (usage.cache_read_tokens, prices.cache_read),
            (usage.cache_write_tokens, prices.cache_write.unwrap_or(prices.input)),
        ];
        // Token counts are far below the 2^53 up to which they are exact.
        Some(parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / MILLION)
    }
}

/// The file of a table.
#[derive(Deserialize)]
struct File {
    models: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    /// About every model whose id begins with this one.
    #[serde(default)]
    family: bool,
    context: u64,
    output: u64,
    #[serde(default)]
    price: Option<ModelPrices>,
}

impl Entry {
    /// Whether this entry is about the model `name`, of which `known` is the id or an alias.
    fn is_about(&self, known: &str, name: &str) -> bool {
        name.strip_prefix(known).is_some_and(|rest| self.family || names_same_model(rest))
    }
}

/// Whether `suffix`, behind a model's name, tells a build of it and not another model: a date or a
/// number of at least three digits, `-latest`, a version of a cloud such as `-v1`, a tag.
fn names_same_model(suffix: &str) -> bool {
    let head = suffix.split([':', '@', '[']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_build =
        |part: &str| is_number(part) || part == "latest" || part.strip_prefix('v').is_some_and(is_number);
    match head.strip_prefix('-') {
        Some(head) => {
            let first_is_long =
                head.split('-').next().is_some_and(|part| part.len() >= 3 || part.starts_with('v'));
            first_is_long && head.split('-').all(is_build)
        }
        None => head.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_is_sound() {
        let table = ModelTable::from_json(include_str!("models.json")).unwrap();
        assert_eq!(&table, ModelTable::builtin());
        for entry in &table.entries {
            assert!(entry.output <= entry.context, "{entry:?}");
            for name in entry.aliases.iter().chain([&entry.id]) {
                let info = table.lookup(name);
                assert_eq!((info.context_window, info.prices), (entry.context, entry.price), "{name}");
            }
            let rising = |price: ModelPrices| price.cache_read < price.input && price.input < price.output;
            assert!(entry.price.is_none_or(rising), "{entry:?}");
        }
    }

    #[test]
    fn models_are_found_under_their_many_names() {
        let table = ModelTable::builtin();
        for (model, window, output) in [
            ("claude-opus-4-6", 1_000_000, 128_000),
            ("claude-haiku-4-5-20251001", 200_000, 64_000),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 64_000),
            ("anthropic/claude-sonnet-4.5", 200_000, 64_000),
            ("claude-opus-4-20250514", 200_000, 32_000),
            ("claude-3-5-haiku-latest", 200_000, 8_192),
            ("claude-3-5-sonnet@20241022", 200_000, 8_192),
            ("claude-opus-9", 200_000, 16_384),
            ("openai/GPT-4o-2024-08-06", 128_000, 16_384),
            ("gpt-5-mini-2025-08-07", 400_000, 128_000),
            ("gpt-5.9", 128_000, 8_192),
            ("gpt-4o-realtime", 128_000, 8_192),
            ("qwen3-coder:30b", 262_144, 65_536),
            ("Qwen/Qwen3-Coder-480B-A35B-Instruct", 262_144, 65_536),
            ("llama3.3:70b-instruct-q4_K_M", 131_072, 8_192),
            ("my-model", 128_000, 8_192),
            ("", 128_000, 8_192),
        ] {
            let info = table.lookup(model);
            assert_eq!((info.context_window, info.max_output_tokens), (window, output), "{model}");
            assert_eq!(info.id, model);
        }
        assert!(!table.lookup("claude-opus-9").known && table.lookup("o3").known);
    }

    #[test]
    fn costs_count_every_kind_of_token_at_its_rate() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_read_tokens: 2_000_000,
            cache_write_tokens: 400_000,
        };
        let cost = |model| ModelTable::builtin().lookup(model).cost(&usage);
        assert_eq!(cost("claude-sonnet-4-6"), Some(3.0 + 1.5 + 0.6 + 1.5));
        assert_eq!(cost("gpt-4o"), Some(2.5 + 1.0 + 2.5 + 1.0));
        assert_eq!(cost("qwen3-coder"), None);
        assert_eq!(cost("gpt-9"), None);
    }

    #[test]
    fn a_broken_table_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"models":[{"id":"x"}]}"#,
            r#"{"models":[{"id":"x","context":1,"output":1,"ouput":1}]}"#,
        ] {
            assert!(ModelTable::from_json(text).is_err(), "{text}");
        }
    }
}
