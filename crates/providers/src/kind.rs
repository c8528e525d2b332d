//! The kinds of providers, in one table.

use std::fmt;
use std::str::FromStr;

use robota_core::{ProviderCategory as Category, ProviderDefinition};

/// The providers this crate knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI: Responses at the vendor's own address, Chat Completions at others.
    OpenAi,
    /// Google Gemini.
    Gemini,
    /// OpenAI models in Azure.
    Azure,
    /// DeepSeek.
    DeepSeek,
    /// Qwen at Alibaba Cloud Model Studio (DashScope).
    Qwen,
    /// Models of the Gemma family on a server of one's own, mostly LM Studio.
    Gemma,
    /// Mistral.
    Mistral,
    /// xAI.
    XAi,
    /// Groq.
    Groq,
    /// Moonshot (Kimi).
    Moonshot,
    /// Z.ai (GLM).
    Zai,
    /// MiniMax.
    MiniMax,
    /// ByteDance Ark (Doubao, Seed).
    ByteDance,
    /// OpenRouter.
    OpenRouter,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// vLLM.
    Vllm,
    /// The server of llama.cpp.
    LlamaCpp,
}

/// A vendor's own service.
const CLOUD: ProviderDefinition = ProviderDefinition {
    kind: "",
    aliases: &[],
    name: "",
    category: Category::Cloud,
    base_url: None,
    key_variables: &[],
    token_variable: None,
    base_url_variable: "",
    model_variable: "",
    default_model: None,
    help: "",
};

/// A server of the user's own.
const LOCAL: ProviderDefinition = ProviderDefinition { category: Category::Local, ..CLOUD };

const ANTHROPIC: ProviderDefinition = ProviderDefinition {
    kind: "anthropic",
    aliases: &["claude"],
    name: "Anthropic",
    base_url: Some("https://api.anthropic.com"),
    key_variables: &["ANTHROPIC_API_KEY"],
    token_variable: Some("ANTHROPIC_AUTH_TOKEN"),
    base_url_variable: "ANTHROPIC_BASE_URL",
    model_variable: "ANTHROPIC_MODEL",
    default_model: Some("claude-sonnet-4-5"),
    help: "https://console.anthropic.com/settings/keys",
    ..CLOUD
};
const OPENAI: ProviderDefinition = ProviderDefinition {
    kind: "openai",
    name: "OpenAI",
    base_url: Some("https://api.openai.com/v1"),
    key_variables: &["OPENAI_API_KEY"],
    base_url_variable: "OPENAI_BASE_URL",
    model_variable: "OPENAI_MODEL",
    default_model: Some("gpt-4.1"),
    help: "https://platform.openai.com/api-keys",
    ..CLOUD
};
const GEMINI: ProviderDefinition = ProviderDefinition {
    kind: "gemini",
    aliases: &["google"],
    name: "Google Gemini",
    base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    base_url_variable: "GEMINI_BASE_URL",
    model_variable: "GEMINI_MODEL",
    default_model: Some("gemini-3-flash-preview"),
    help: "https://aistudio.google.com/apikey",
    ..CLOUD
};
const AZURE: ProviderDefinition = ProviderDefinition {
    kind: "azure",
    aliases: &["azure-openai"],
    name: "Azure OpenAI",
    key_variables: &["AZURE_OPENAI_API_KEY"],
    base_url_variable: "AZURE_OPENAI_ENDPOINT",
    model_variable: "AZURE_OPENAI_MODEL",
    help: "https://ai.azure.com",
    ..CLOUD
};
const DEEPSEEK: ProviderDefinition = ProviderDefinition {
    kind: "deepseek",
    name: "DeepSeek",
    base_url: Some("https://api.deepseek.com"),
    key_variables: &["DEEPSEEK_API_KEY"],
    base_url_variable: "DEEPSEEK_BASE_URL",
    model_variable: "DEEPSEEK_MODEL",
    default_model: Some("deepseek-v4-flash"),
    help: "https://platform.deepseek.com/api_keys",
    ..CLOUD
};
const QWEN: ProviderDefinition = ProviderDefinition {
    kind: "qwen",
    aliases: &["dashscope"],
    name: "Qwen (Alibaba Cloud)",
    base_url: Some("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
    key_variables: &["DASHSCOPE_API_KEY"],
    base_url_variable: "DASHSCOPE_BASE_URL",
    model_variable: "QWEN_MODEL",
    default_model: Some("qwen-plus"),
    help: "https://modelstudio.console.alibabacloud.com",
    ..CLOUD
};
const GEMMA: ProviderDefinition = ProviderDefinition {
    kind: "gemma",
    name: "Gemma",
    base_url: Some("http://localhost:1234/v1"),
    base_url_variable: "GEMMA_BASE_URL",
    model_variable: "GEMMA_MODEL",
    default_model: Some("supergemma4-26b-uncensored-v2"),
    help: "https://lmstudio.ai",
    ..LOCAL
};
const MISTRAL: ProviderDefinition = ProviderDefinition {
    kind: "mistral",
    name: "Mistral",
    base_url: Some("https://api.mistral.ai/v1"),
    key_variables: &["MISTRAL_API_KEY"],
    base_url_variable: "MISTRAL_BASE_URL",
    model_variable: "MISTRAL_MODEL",
    default_model: Some("mistral-medium-latest"),
    help: "https://console.mistral.ai/api-keys",
    ..CLOUD
};
const XAI: ProviderDefinition = ProviderDefinition {
    kind: "xai",
    aliases: &["grok"],
    name: "xAI",
    base_url: Some("https://api.x.ai/v1"),
    key_variables: &["XAI_API_KEY"],
    base_url_variable: "XAI_BASE_URL",
    model_variable: "XAI_MODEL",
    default_model: Some("grok-4.3"),
    help: "https://console.x.ai",
    ..CLOUD
};
const GROQ: ProviderDefinition = ProviderDefinition {
    kind: "groq",
    name: "Groq",
    base_url: Some("https://api.groq.com/openai/v1"),
    key_variables: &["GROQ_API_KEY"],
    base_url_variable: "GROQ_BASE_URL",
    model_variable: "GROQ_MODEL",
    default_model: Some("openai/gpt-oss-120b"),
    help: "https://console.groq.com/keys",
    ..CLOUD
};
const MOONSHOT: ProviderDefinition = ProviderDefinition {
    kind: "moonshot",
    aliases: &["kimi"],
    name: "Moonshot",
    base_url: Some("https://api.moonshot.ai/v1"),
    key_variables: &["MOONSHOT_API_KEY"],
    base_url_variable: "MOONSHOT_BASE_URL",
    model_variable: "MOONSHOT_MODEL",
    default_model: Some("kimi-k2.6"),
    help: "https://platform.moonshot.ai/console/api-keys",
    ..CLOUD
};
const ZAI: ProviderDefinition = ProviderDefinition {
    kind: "zai",
    aliases: &["z.ai", "zhipu", "glm"],
    name: "Z.ai",
    base_url: Some("https://api.z.ai/api/paas/v4"),
    key_variables: &["ZAI_API_KEY"],
    base_url_variable: "ZAI_BASE_URL",
    model_variable: "ZAI_MODEL",
    default_model: Some("glm-5.1"),
    help: "https://z.ai/manage-apikey/apikey-list",
    ..CLOUD
};
const MINIMAX: ProviderDefinition = ProviderDefinition {
    kind: "minimax",
    name: "MiniMax",
    base_url: Some("https://api.minimax.io/v1"),
    key_variables: &["MINIMAX_API_KEY"],
    base_url_variable: "MINIMAX_BASE_URL",
    model_variable: "MINIMAX_MODEL",
    default_model: Some("MiniMax-M3"),
    help: "https://platform.minimax.io",
    ..CLOUD
};
const BYTEDANCE: ProviderDefinition = ProviderDefinition {
    kind: "bytedance",
    aliases: &["ark", "doubao", "volcengine"],
    name: "ByteDance Ark",
    base_url: Some("https://ark.cn-beijing.volces.com/api/v3"),
    key_variables: &["ARK_API_KEY"],
    base_url_variable: "ARK_BASE_URL",
    model_variable: "ARK_MODEL",
    help: "https://console.volcengine.com/ark",
    ..CLOUD
};
const OPENROUTER: ProviderDefinition = ProviderDefinition {
    kind: "openrouter",
    name: "OpenRouter",
    category: Category::Gateway,
    base_url: Some("https://openrouter.ai/api/v1"),
    key_variables: &["OPENROUTER_API_KEY"],
    base_url_variable: "OPENROUTER_BASE_URL",
    model_variable: "OPENROUTER_MODEL",
    help: "https://openrouter.ai/settings/keys",
    ..CLOUD
};
const OLLAMA: ProviderDefinition = ProviderDefinition {
    kind: "ollama",
    name: "Ollama",
    base_url: Some("http://localhost:11434/v1"),
    key_variables: &["OLLAMA_API_KEY"],
    base_url_variable: "OLLAMA_BASE_URL",
    model_variable: "OLLAMA_MODEL",
    help: "https://ollama.com",
    ..LOCAL
};
const LM_STUDIO: ProviderDefinition = ProviderDefinition {
    kind: "lmstudio",
    aliases: &["lm-studio"],
    name: "LM Studio",
    base_url: Some("http://localhost:1234/v1"),
    key_variables: &["LMSTUDIO_API_KEY"],
    base_url_variable: "LMSTUDIO_BASE_URL",
    model_variable: "LMSTUDIO_MODEL",
    help: "https://lmstudio.ai",
    ..LOCAL
};
const VLLM: ProviderDefinition = ProviderDefinition {
    kind: "vllm",
    name: "vLLM",
    base_url: Some("http://localhost:8000/v1"),
    key_variables: &["VLLM_API_KEY"],
    base_url_variable: "VLLM_BASE_URL",
    model_variable: "VLLM_MODEL",
    help: "https://docs.vllm.ai",
    ..LOCAL
};
const LLAMA_CPP: ProviderDefinition = ProviderDefinition {
    kind: "llamacpp",
    aliases: &["llama.cpp", "llama-cpp"],
    name: "llama.cpp",
    base_url: Some("http://localhost:8080/v1"),
    key_variables: &["LLAMA_API_KEY"],
    base_url_variable: "LLAMACPP_BASE_URL",
    model_variable: "LLAMACPP_MODEL",
    help: "https://github.com/ggml-org/llama.cpp",
    ..LOCAL
};

impl ProviderKind {
    /// All of them, in the order in which people are shown them.
    pub const ALL: [Self; 19] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Azure,
        Self::DeepSeek,
        Self::Qwen,
        Self::Gemma,
        Self::Mistral,
        Self::XAi,
        Self::Groq,
        Self::Moonshot,
        Self::Zai,
        Self::MiniMax,
        Self::ByteDance,
        Self::OpenRouter,
        Self::Ollama,
        Self::LmStudio,
        Self::Vllm,
        Self::LlamaCpp,
    ];

    /// The name users write, and the id the provider has, such as `anthropic`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.definition().kind
    }

    /// Names, places and defaults.
    #[must_use]
    pub const fn definition(self) -> &'static ProviderDefinition {
        match self {
            Self::Anthropic => &ANTHROPIC,
            Self::OpenAi => &OPENAI,
            Self::Gemini => &GEMINI,
            Self::Azure => &AZURE,
            Self::DeepSeek => &DEEPSEEK,
            Self::Qwen => &QWEN,
            Self::Gemma => &GEMMA,
            Self::Mistral => &MISTRAL,
            Self::XAi => &XAI,
            Self::Groq => &GROQ,
            Self::Moonshot => &MOONSHOT,
            Self::Zai => &ZAI,
            Self::MiniMax => &MINIMAX,
            Self::ByteDance => &BYTEDANCE,
            Self::OpenRouter => &OPENROUTER,
            Self::Ollama => &OLLAMA,
            Self::LmStudio => &LM_STUDIO,
            Self::Vllm => &VLLM,
            Self::LlamaCpp => &LLAMA_CPP,
        }
    }
}

/// The definitions of [`ProviderKind::ALL`], in that order: what a composition root hands to the resolver of profiles.
#[must_use]
pub fn definitions() -> Vec<ProviderDefinition> {
    ProviderKind::ALL.into_iter().map(|kind| *kind.definition()).collect()
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A name that is no provider's.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no provider; there are {}", ProviderKind::ALL.map(ProviderKind::id).join(", "))]
pub struct UnknownProvider {
    name: String,
}

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        let known = Self::ALL.into_iter().find(|kind| kind.definition().is_called(name));
        known.ok_or_else(|| UnknownProvider { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_one_kind() {
        let mut names = BTreeSet::new();
        for kind in ProviderKind::ALL {
            let definition = kind.definition();
            for name in definition.aliases.iter().chain([&definition.kind]) {
                assert!(names.insert(*name), "{name} twice");
                assert_eq!(name.parse::<ProviderKind>().unwrap(), kind);
            }
            assert!(!definition.name.is_empty() && definition.help.starts_with("https://"), "{kind}");
            assert!(!definition.base_url_variable.is_empty() && !definition.model_variable.is_empty());
        }
        let error = "gpt".parse::<ProviderKind>().unwrap_err().to_string();
        assert!(error.starts_with("`gpt` is no provider; there are anthropic, openai, gemini, "), "{error}");
    }
}
