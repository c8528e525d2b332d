//! Kinds of providers for tests; this crate knows none itself.

use robota_core::{ProviderCategory, ProviderDefinition};
use robota_framework::{Environment, ProviderOverrides, ResolvedProvider, Settings};

const CLOUD: ProviderDefinition = ProviderDefinition {
    kind: "anthropic",
    aliases: &["claude"],
    name: "Anthropic",
    category: ProviderCategory::Cloud,
    base_url: Some("https://anthropic.example"),
    key_variables: &["ANTHROPIC_API_KEY"],
    token_variable: Some("ANTHROPIC_AUTH_TOKEN"),
    base_url_variable: "ANTHROPIC_BASE_URL",
    model_variable: "ANTHROPIC_MODEL",
    default_model: Some("claude-sonnet-4-5"),
    help: "https://anthropic.example/keys",
};

/// A vendor with a token besides its key, one without, one with two variables, one without an address of its own,
/// and a server of the user's own.
pub(crate) const DEFINITIONS: [ProviderDefinition; 5] = [
    CLOUD,
    ProviderDefinition {
        kind: "openai",
        aliases: &[],
        key_variables: &["OPENAI_API_KEY"],
        token_variable: None,
        base_url_variable: "OPENAI_BASE_URL",
        model_variable: "OPENAI_MODEL",
        default_model: Some("gpt-4.1"),
        ..CLOUD
    },
    ProviderDefinition {
        kind: "gemini",
        aliases: &["google"],
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        token_variable: None,
        base_url_variable: "GEMINI_BASE_URL",
        model_variable: "GEMINI_MODEL",
        default_model: Some("gemini-3-flash-preview"),
        ..CLOUD
    },
    ProviderDefinition {
        kind: "azure",
        aliases: &[],
        base_url: None,
        key_variables: &["AZURE_OPENAI_API_KEY"],
        token_variable: None,
        base_url_variable: "AZURE_OPENAI_ENDPOINT",
        model_variable: "AZURE_OPENAI_MODEL",
        default_model: None,
        ..CLOUD
    },
    ProviderDefinition {
        kind: "ollama",
        aliases: &[],
        category: ProviderCategory::Local,
        base_url: Some("http://localhost:11434/v1"),
        key_variables: &["OLLAMA_API_KEY"],
        token_variable: None,
        base_url_variable: "OLLAMA_BASE_URL",
        model_variable: "OLLAMA_MODEL",
        default_model: None,
        ..CLOUD
    },
];

/// The provider that `settings` and `environment` come to.
pub(crate) fn resolved(settings: &Settings, environment: &Environment) -> ResolvedProvider {
    let overrides = ProviderOverrides::default();
    ResolvedProvider::resolve(settings, environment, &overrides, &DEFINITIONS).unwrap()
}
