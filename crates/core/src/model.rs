//! What models can hold and what they cost.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// The limits assumed for a model that the table does not know (facts sheet 2.8): window and output
/// of Claude models, and of all others, whose makers promise less.
const UNKNOWN_CLAUDE: (u64, u64) = (200_000, 16_384);
const UNKNOWN_OTHER: (u64, u64) = (128_000, 8_192);

/// Limits and prices of models, as data.
///
/// Three layers: entries of [`with`](Self::with) count before those of the table, and what a provider says of
/// its models ([`with_listed`](Self::with_listed)) only where neither knows one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelTable {
    entries: Vec<ModelEntry>,
    added: Vec<ModelEntry>,
    listed: Vec<ModelEntry>,
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
    /// Whether the limits are known. Otherwise they are careful guesses.
    pub known: bool,
    /// Where they are from.
    pub source: ModelSource,
    /// The kind of provider that makes the model; `None` when that is not known.
    pub provider: Option<String>,
    /// What it takes besides text; `None` when that is not known.
    pub input: Option<Vec<Modality>>,
    /// Whether it can think before it answers.
    pub thinking: Option<bool>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// Whether it can answer after a JSON schema.
    pub structured_output: Option<bool>,
}

/// Where the limits of a model are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ModelSource {
    /// The table that ships with this version.
    Table,
    /// Settings, or the host.
    Settings,
    /// The provider's own list.
    Provider,
    /// Nobody says; they are assumed.
    Assumed,
}

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Modality {
    /// Text; all models do.
    Text,
    /// Images.
    Image,
    /// PDF documents.
    Pdf,
    /// Sound.
    Audio,
}

/// What a table says of one model, or of a family of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct ModelEntry {
    /// The id of the model.
    pub id: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// About every model whose id begins with this one.
    #[serde(default)]
    pub family: bool,
    /// The kind of provider that makes it.
    #[serde(default)]
    pub provider: Option<String>,
    /// The most tokens a request and its answer may have together.
    pub context: u64,
    /// The most tokens of one answer.
    pub output: u64,
    /// What it takes.
    #[serde(default)]
    pub input: Option<Vec<Modality>>,
    /// Whether it can think before it answers.
    #[serde(default)]
    pub thinking: Option<bool>,
    /// Whether it can call tools.
    #[serde(default)]
    pub tools: Option<bool>,
    /// Whether it can answer after a JSON schema.
    #[serde(default)]
    pub structured_output: Option<bool>,
    /// What it costs.
    #[serde(default)]
    pub price: Option<ModelPrices>,
}

/// List prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "WrittenPrices")]
#[non_exhaustive]
pub struct ModelPrices {
    /// Uncached input.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the provider's prompt cache; what other input costs, where nobody says.
    pub cache_read: f64,
    /// Input written to the cache; `None` where writing costs what input costs.
    pub cache_write: Option<f64>,
}

/// Prices as they stand in a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenPrices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<WrittenPrices> for ModelPrices {
    fn from(written: WrittenPrices) -> Self {
        let WrittenPrices { input, output, cache_read, cache_write } = written;
        Self { input, output, cache_read: cache_read.unwrap_or(input), cache_write }
    }
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
        TABLE.get_or_init(|| Self::from_json(include_str!("models.json")).unwrap_or_default())
    }

    /// Reads a table in the format of the shipped one: `{"models": [{"id", "context", "output",
    /// "aliases"?, "family"?, "provider"?, "input"?, "thinking"?, "tools"?, "structuredOutput"?, "price"?}]}`. With
    /// `family`, an entry is about every model whose id begins with its own.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or an entry lacks a field or has one with another name.
    pub fn from_json(text: &str) -> Result<Self, InvalidModelTable> {
        let file: File = serde_json::from_str(text)?;
        Ok(Self { entries: file.models, ..Self::default() })
    }

    /// The same table with `entries` before its own; of two about the same model the later counts.
    #[must_use]
    pub fn with(mut self, entries: impl IntoIterator<Item = ModelEntry>) -> Self {
        self.added.extend(entries);
        self
    }

    /// The same table with what a provider says of its models, for those that nobody else knows.
    #[must_use]
    pub fn with_listed(mut self, entries: impl IntoIterator<Item = ModelEntry>) -> Self {
        self.listed.extend(entries);
        self
    }

    /// What is known about `model`, by the entry with the longest name that fits. Case, the path of
    /// a router (`anthropic/…`, `us.anthropic.…`), and dates, tags and versions behind the name do
    /// not matter. Unknown models get careful limits and no prices.
    #[must_use]
    pub fn lookup(&self, model: &str) -> ModelInfo {
        let id = model.to_ascii_lowercase();
        let name = id.rsplit('/').next().unwrap_or(&id);
        let name = name.find("claude-").and_then(|at| name.get(at..)).unwrap_or(name);
        // What somebody has written down for this very model counts before what fits it.
        let exact = |entries: &'_ [ModelEntry]| entries.iter().rposition(|entry| entry.is_called(&id));
        let of_host =
            exact(&self.added).and_then(|at| self.added.get(at)).or_else(|| fitting(&self.added, name));
        let listed = || exact(&self.listed).and_then(|at| self.listed.get(at));
        if let Some(entry) = of_host {
            return entry.info(model, ModelSource::Settings);
        }
        if let Some(entry) = fitting(&self.entries, name) {
            return entry.info(model, ModelSource::Table);
        }
        if let Some(entry) = listed() {
            return entry.info(model, ModelSource::Provider);
        }
        let limits = if name.starts_with("claude") { UNKNOWN_CLAUDE } else { UNKNOWN_OTHER };
        let (context, output) = limits;
        ModelEntry { context, output, ..ModelEntry::default() }.info(model, ModelSource::Assumed)
    }
}

/// The entry with the longest name that fits `name`; of equals the last.
fn fitting<'a>(entries: &'a [ModelEntry], name: &str) -> Option<&'a ModelEntry> {
    let fitting = entries.iter().flat_map(|entry| {
        let names = entry.names().filter(move |known| entry.is_about(&known.to_ascii_lowercase(), name));
        names.map(move |known| (known.len(), entry))
    });
    fitting.max_by_key(|(length, _)| *length).map(|(_, entry)| entry)
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
    models: Vec<ModelEntry>,
}

impl ModelEntry {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.aliases.iter().chain([&self.id])
    }

    /// Whether `id`, in small letters, is a name of it, path and all.
    fn is_called(&self, id: &str) -> bool {
        self.names().any(|name| name.eq_ignore_ascii_case(id))
    }

    fn info(&self, asked: &str, source: ModelSource) -> ModelInfo {
        ModelInfo {
            id: asked.to_owned(),
            context_window: self.context,
            max_output_tokens: self.output,
            prices: self.price,
            known: source != ModelSource::Assumed,
            source,
            provider: self.provider.clone(),
            input: self.input.clone(),
            thinking: self.thinking,
            tools: self.tools,
            structured_output: self.structured_output,
        }
    }

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
            let told = entry.input.is_some() && entry.thinking.is_some() && entry.provider.is_some();
            assert!(told && entry.tools.is_some() && entry.structured_output.is_some(), "{entry:?}");
            let rising = |price: ModelPrices| price.cache_read <= price.input && price.input < price.output;
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
    fn settings_count_before_the_table_and_a_providers_list_only_behind_it() {
        let entry = |id: &str, context| ModelEntry {
            id: id.to_owned(),
            context,
            output: 1_000,
            ..ModelEntry::default()
        };
        let table = ModelTable::builtin().clone();
        let table = table.with([entry("gpt-4o", 64_000), entry("Org/My-Model", 32_000)]);
        let table = table.with_listed([entry("gpt-4.1", 1), entry("local.gguf", 4_096)]);
        let limits = |model| {
            let info = table.lookup(model);
            (info.context_window, info.source)
        };
        assert_eq!(limits("gpt-4o"), (64_000, ModelSource::Settings));
        assert_eq!(limits("org/my-model"), (32_000, ModelSource::Settings));
        assert_eq!(limits("gpt-4.1"), (1_047_576, ModelSource::Table));
        assert_eq!(limits("local.gguf"), (4_096, ModelSource::Provider));
        assert_eq!(limits("other"), (128_000, ModelSource::Assumed));
        let gemini = table.lookup("google/gemini-3-flash-preview");
        assert_eq!((gemini.provider.as_deref(), gemini.thinking), (Some("gemini"), Some(true)));
        assert!(gemini.input.is_some_and(|input| input.contains(&Modality::Pdf)));
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
