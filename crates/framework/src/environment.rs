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
    ROBOTA_PROVIDER: "Provider to use: a profile of the settings or a type such as `openai`; `--provider` wins over it.",
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
    GEMINI_API_KEY: "Key of the Gemini API.",
    GOOGLE_API_KEY: "Key of the Gemini API, used when GEMINI_API_KEY is not set.",
    GEMINI_BASE_URL: "Address to use instead of the Gemini API.",
    GEMINI_MODEL: "Model of Gemini providers that name none.",
    AZURE_OPENAI_API_KEY: "Key of a resource of Azure OpenAI.",
    AZURE_OPENAI_ENDPOINT: "Address of that resource.",
    AZURE_OPENAI_MODEL: "Deployment of Azure OpenAI providers that name none.",
    DEEPSEEK_API_KEY: "Key of DeepSeek.",
    DEEPSEEK_BASE_URL: "Address to use instead of that of DeepSeek.",
    DEEPSEEK_MODEL: "Model of DeepSeek providers that name none.",
    DASHSCOPE_API_KEY: "Key of Alibaba Cloud Model Studio.",
    DASHSCOPE_BASE_URL: "Address to use instead of that of Alibaba Cloud Model Studio.",
    QWEN_MODEL: "Model of Qwen providers that name none.",
    GEMMA_BASE_URL: "Address of the server of Gemma providers.",
    GEMMA_MODEL: "Model of Gemma providers that name none.",
    MISTRAL_API_KEY: "Key of Mistral.",
    MISTRAL_BASE_URL: "Address to use instead of that of Mistral.",
    MISTRAL_MODEL: "Model of Mistral providers that name none.",
    XAI_API_KEY: "Key of xAI.",
    XAI_BASE_URL: "Address to use instead of that of xAI.",
    XAI_MODEL: "Model of xAI providers that name none.",
    GROQ_API_KEY: "Key of Groq.",
    GROQ_BASE_URL: "Address to use instead of that of Groq.",
    GROQ_MODEL: "Model of Groq providers that name none.",
    MOONSHOT_API_KEY: "Key of Moonshot.",
    MOONSHOT_BASE_URL: "Address to use instead of that of Moonshot.",
    MOONSHOT_MODEL: "Model of Moonshot providers that name none.",
    ZAI_API_KEY: "Key of Z.ai.",
    ZAI_BASE_URL: "Address to use instead of that of Z.ai.",
    ZAI_MODEL: "Model of Z.ai providers that name none.",
    MINIMAX_API_KEY: "Key of MiniMax.",
    MINIMAX_BASE_URL: "Address to use instead of that of MiniMax.",
    MINIMAX_MODEL: "Model of MiniMax providers that name none.",
    ARK_API_KEY: "Key of ByteDance Ark.",
    ARK_BASE_URL: "Address to use instead of that of ByteDance Ark.",
    ARK_MODEL: "Model of ByteDance providers that name none.",
    OPENROUTER_API_KEY: "Key of OpenRouter.",
    OPENROUTER_BASE_URL: "Address to use instead of that of OpenRouter.",
    OPENROUTER_MODEL: "Model of OpenRouter providers that name none.",
    OLLAMA_API_KEY: "Key of a server of Ollama, where it wants one.",
    OLLAMA_BASE_URL: "Address of a server of Ollama.",
    OLLAMA_MODEL: "Model of Ollama providers that name none.",
    LMSTUDIO_API_KEY: "Key of a server of LM Studio, where it wants one.",
    LMSTUDIO_BASE_URL: "Address of a server of LM Studio.",
    LMSTUDIO_MODEL: "Model of LM Studio providers that name none.",
    VLLM_API_KEY: "Key of a server of vLLM, where it wants one.",
    VLLM_BASE_URL: "Address of a server of vLLM.",
    VLLM_MODEL: "Model of vLLM providers that name none.",
    LLAMA_API_KEY: "Key of a server of llama.cpp, where it wants one.",
    LLAMACPP_BASE_URL: "Address of a server of llama.cpp.",
    LLAMACPP_MODEL: "Model of llama.cpp providers that name none.",
    BRAVE_API_KEY: "Key of the Brave Search API, with which WebSearch works.",
    TAVILY_API_KEY: "Key of the Tavily API, with which WebSearch works where BRAVE_API_KEY is not set.",
    SEARXNG_URL: "Address of a SearXNG instance, with which WebSearch works where neither key is set.",
}

impl Variable {
    /// Whether its value is a credential.
    #[must_use]
    pub fn is_credential(self) -> bool {
        self.name.ends_with("_API_KEY") || self.name.ends_with("_AUTH_TOKEN")
    }
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

    /// The value of the variable called `name`, for the variables of providers and references such as `$ENV:NAME`.
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
    /// Sets the variable called `name`.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.into(), value.into());
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
