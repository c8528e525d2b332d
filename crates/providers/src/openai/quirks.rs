//! What sets the servers apart that speak Chat Completions (protocols F4): plain data, one table for each kind.

use crate::kind::ProviderKind;

/// How one kind of server wants to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Names the encoded form of messages: by whether images are left out, and whether calls are written as text.
    pub(super) formats: [&'static str; 4],
    /// Name of the field that limits the output.
    pub(super) max_tokens: &'static str,
    /// Takes `stream_options`, and counts tokens when asked so; others count unasked, or not at all.
    pub(super) stream_options: bool,
    /// Has to be asked for several calls in one answer.
    pub(super) parallel_tool_calls: bool,
    /// Which tool choices it takes.
    pub(super) tool_choice: ToolChoices,
    /// In which form answers after a schema are asked for.
    pub(super) answer_form: AnswerForm,
    /// Role of the system prompt.
    pub(super) system: SystemRole,
    /// Neighbours of one role are refused, so they are joined.
    pub(super) alternate: bool,
    /// A user may speak right after the result of a tool.
    pub(super) user_after_tool: bool,
    /// What ids of calls may look like.
    pub(super) call_ids: CallIds,
    /// Content of an answer that only calls.
    pub(super) no_content: NoContent,
    /// Results of tools carry the name of the tool.
    pub(super) tool_names: bool,
    /// How thinking is sent back.
    pub(super) echo: Echo,
    /// How thinking is switched.
    pub(super) thinking: ThinkingSwitch,
    /// How effort is asked for.
    pub(super) effort: Option<Efforts>,
    /// Which models see images.
    pub(super) images: Images,
    /// Takes documents as `file` parts.
    pub(super) documents: bool,
    /// Where the name of the conversation goes, so that its requests find their cache.
    pub(super) cache_key: CacheKey,
    /// How the names of models begin that cache only when `cache_control` asks for it.
    pub(super) caches_on_request: Option<&'static str>,
    /// Writes thinking and calls as text when it is not set up to read them.
    pub(super) markup: bool,
    /// Why it has no web tools here.
    pub(super) web: &'static str,
}

/// Which tool choices besides `auto` are taken; what is not is asked for in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolChoices {
    /// `none`, `required`, and a tool by name.
    All,
    /// `none` and `required`.
    Words,
    /// `none` and a tool by name.
    Named,
    /// `none`.
    NoneOnly,
    /// Not even that.
    Auto,
}

/// In which form answers after a schema are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// `json_schema`.
    Schema,
    /// `json_object`, with the schema in words.
    Object,
    /// In words alone.
    Words,
}

/// Role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SystemRole {
    Developer,
    System,
}

/// What ids of calls may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallIds {
    /// Anything up to 40 bytes.
    Short,
    /// Exactly nine letters and digits.
    Nine,
}

/// Content of an answer that only calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoContent {
    Null,
    Empty,
}

/// How thinking goes back to the provider that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// It does not.
    Never,
    /// In this field of the message, where there is some.
    Field(&'static str),
    /// In this field of every answer that calls, even empty, and elsewhere where there is some.
    WithCalls(&'static str),
    /// In this field of every answer, even empty: the server refuses histories where it is missing.
    Always(&'static str),
    /// As the list `reasoning_details`, exactly as it came, or else as the text in `reasoning`.
    Details,
    /// Within `<think>` at the beginning of the content.
    Tags,
    /// As a part of the content with the type `thinking`.
    Parts,
}

/// How thinking is switched on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingSwitch {
    /// Only by effort, if at all.
    None,
    /// `thinking: {type}`: the words for thinking with a budget, thinking as much as it likes, and not thinking.
    Type { on: &'static str, adaptive: &'static str, off: &'static str },
    /// `enable_thinking` and `thinking_budget`.
    Enable,
    /// `reasoning: {effort | max_tokens | enabled}`, effort included.
    Reasoning,
    /// `chat_template_kwargs: {enable_thinking}`.
    Template,
}

/// How effort is asked for: in `reasoning_effort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Efforts {
    /// The words for low, medium, high, xhigh and max.
    pub(super) words: [&'static str; 5],
    /// The word for not thinking at all.
    pub(super) off: Option<&'static str>,
}

/// Which models see images. Others are sent a sentence in the place of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Images {
    All,
    /// Those with one of these in their name, in lower case.
    Named(&'static [&'static str]),
}

/// Where the name of the conversation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheKey {
    None,
    Field(&'static str),
    Header(&'static str),
}

impl Images {
    /// Whether `model` sees images.
    pub(super) fn seen_by(self, model: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(marks) => {
                let model = model.to_ascii_lowercase();
                marks.iter().any(|mark| model.contains(mark))
            }
        }
    }
}

macro_rules! formats {
    ($name:literal) => {
        [
            concat!("openai-chat/", $name),
            concat!("openai-chat/", $name, "/blind"),
            concat!("openai-chat/", $name, "/text"),
            concat!("openai-chat/", $name, "/blind/text"),
        ]
    };
}

/// Up to high.
const TO_HIGH: [&str; 5] = ["low", "medium", "high", "high", "high"];

/// A server nobody knows, behind `openai` with an address of its own.
pub(super) const UNKNOWN: Quirks = Quirks {
    formats: formats!("unknown"),
    max_tokens: "max_completion_tokens",
    stream_options: true,
    parallel_tool_calls: false,
    tool_choice: ToolChoices::All,
    answer_form: AnswerForm::Schema,
    system: SystemRole::System,
    alternate: false,
    user_after_tool: true,
    call_ids: CallIds::Short,
    no_content: NoContent::Null,
    tool_names: false,
    echo: Echo::Never,
    thinking: ThinkingSwitch::None,
    effort: Some(Efforts { words: TO_HIGH, off: None }),
    images: Images::All,
    documents: false,
    cache_key: CacheKey::None,
    caches_on_request: None,
    markup: true,
    web: "the API has no web tools of its own",
};

/// A vendor that reads what its models write.
const VENDOR: Quirks = Quirks { markup: false, max_tokens: "max_tokens", effort: None, ..UNKNOWN };

/// A server of the user's own. Its templates want content to be a string.
const LOCAL: Quirks = Quirks { max_tokens: "max_tokens", no_content: NoContent::Empty, ..UNKNOWN };

const OPENAI: Quirks = Quirks {
    formats: formats!("openai"),
    max_tokens: "max_completion_tokens",
    system: SystemRole::Developer,
    effort: Some(Efforts { words: ["low", "medium", "high", "xhigh", "xhigh"], off: Some("none") }),
    documents: true,
    cache_key: CacheKey::Field("prompt_cache_key"),
    web: "web search runs on the Responses API; set `apiSurface` to `responses`",
    ..VENDOR
};
const AZURE: Quirks = Quirks {
    formats: formats!("azure"),
    system: SystemRole::System,
    documents: false,
    cache_key: CacheKey::None,
    ..OPENAI
};
const DEEPSEEK: Quirks = Quirks {
    formats: formats!("deepseek"),
    // With thinking on, which is usual, a forced call is refused.
    tool_choice: ToolChoices::NoneOnly,
    answer_form: AnswerForm::Object,
    echo: Echo::Always("reasoning_content"),
    thinking: ThinkingSwitch::Type { on: "enabled", adaptive: "enabled", off: "disabled" },
    // The service itself maps the words it does not have.
    effort: Some(Efforts { words: ["low", "medium", "high", "xhigh", "max"], off: None }),
    images: Images::Named(&["vision", "-vl"]),
    ..VENDOR
};
const QWEN: Quirks = Quirks {
    formats: formats!("qwen"),
    parallel_tool_calls: true,
    tool_choice: ToolChoices::Named,
    answer_form: AnswerForm::Object,
    no_content: NoContent::Empty,
    thinking: ThinkingSwitch::Enable,
    images: Images::Named(&["-vl", "omni", "qvq", "qwen3.5", "qwen3.6", "qwen3.7"]),
    web: "web search runs on the Responses API; set `builtInWebTools` in the options of the profile",
    ..VENDOR
};
const GEMMA: Quirks = Quirks {
    formats: formats!("gemma"),
    alternate: true,
    tool_names: true,
    tool_choice: ToolChoices::Words,
    thinking: ThinkingSwitch::Template,
    effort: None,
    ..LOCAL
};
const MISTRAL: Quirks = Quirks {
    formats: formats!("mistral"),
    // It counts in the last chunk, unasked.
    stream_options: false,
    alternate: true,
    user_after_tool: false,
    call_ids: CallIds::Nine,
    no_content: NoContent::Empty,
    tool_names: true,
    echo: Echo::Parts,
    effort: Some(Efforts { words: TO_HIGH, off: Some("none") }),
    web: "web search runs in the agents of the service, not in Chat Completions",
    ..VENDOR
};
const XAI: Quirks = Quirks {
    formats: formats!("xai"),
    max_tokens: "max_completion_tokens",
    effort: Some(Efforts { words: TO_HIGH, off: Some("none") }),
    cache_key: CacheKey::Header("x-grok-conv-id"),
    web: "live search runs on the Responses API of the service, which is not spoken here",
    ..VENDOR
};
const GROQ: Quirks = Quirks {
    formats: formats!("groq"),
    max_tokens: "max_completion_tokens",
    echo: Echo::Field("reasoning"),
    effort: Some(Efforts { words: TO_HIGH, off: Some("none") }),
    images: Images::Named(&["llama-4", "vision", "-vl", "qwen3.6"]),
    markup: true,
    web: "only the compound systems of the service search, and they take no tools of others",
    ..VENDOR
};
const MOONSHOT: Quirks = Quirks {
    formats: formats!("moonshot"),
    // With thinking on, a forced call is refused.
    tool_choice: ToolChoices::NoneOnly,
    no_content: NoContent::Empty,
    tool_names: true,
    echo: Echo::WithCalls("reasoning_content"),
    thinking: ThinkingSwitch::Type { on: "enabled", adaptive: "enabled", off: "disabled" },
    images: Images::Named(&["k2.5", "k2.6", "k2.7", "k3", "vision"]),
    cache_key: CacheKey::Field("prompt_cache_key"),
    web: "the web search of the service is a tool that the caller has to echo, which is not spoken here",
    ..VENDOR
};
const ZAI: Quirks = Quirks {
    formats: formats!("zai"),
    // It counts in the last chunk, unasked.
    stream_options: false,
    tool_choice: ToolChoices::Auto,
    answer_form: AnswerForm::Object,
    no_content: NoContent::Empty,
    echo: Echo::Field("reasoning_content"),
    thinking: ThinkingSwitch::Type { on: "enabled", adaptive: "enabled", off: "disabled" },
    images: Images::Named(&["4v", "4.1v", "4.5v", "4.6v", "5v"]),
    web: "the web search of the service runs before every answer, whether it is needed or not",
    ..VENDOR
};
const MINIMAX: Quirks = Quirks {
    formats: formats!("minimax"),
    max_tokens: "max_completion_tokens",
    tool_choice: ToolChoices::Auto,
    answer_form: AnswerForm::Words,
    no_content: NoContent::Empty,
    echo: Echo::Tags,
    thinking: ThinkingSwitch::Type { on: "adaptive", adaptive: "adaptive", off: "disabled" },
    images: Images::Named(&["-m3"]),
    markup: true,
    ..VENDOR
};
const BYTEDANCE: Quirks = Quirks {
    formats: formats!("bytedance"),
    echo: Echo::Field("reasoning_content"),
    thinking: ThinkingSwitch::Type { on: "enabled", adaptive: "auto", off: "disabled" },
    effort: Some(Efforts { words: TO_HIGH, off: None }),
    web: "web search runs on the Responses API of the service, which is not spoken here",
    ..VENDOR
};
const OPENROUTER: Quirks = Quirks {
    formats: formats!("openrouter"),
    echo: Echo::Details,
    thinking: ThinkingSwitch::Reasoning,
    documents: true,
    cache_key: CacheKey::Field("session_id"),
    caches_on_request: Some("anthropic/"),
    markup: true,
    web: "the web search of the service runs, and is paid, with every request of a conversation",
    ..VENDOR
};
const OLLAMA: Quirks = Quirks {
    formats: formats!("ollama"),
    // Taken and ignored, so that it is said in words.
    tool_choice: ToolChoices::Auto,
    tool_names: true,
    echo: Echo::Field("reasoning"),
    effort: Some(Efforts { words: TO_HIGH, off: Some("none") }),
    ..LOCAL
};
const LM_STUDIO: Quirks = Quirks { formats: formats!("lmstudio"), tool_choice: ToolChoices::Words, ..LOCAL };
const VLLM: Quirks = Quirks {
    formats: formats!("vllm"),
    echo: Echo::Field("reasoning"),
    thinking: ThinkingSwitch::Template,
    ..LOCAL
};
const LLAMA_CPP: Quirks = Quirks {
    formats: formats!("llamacpp"),
    tool_choice: ToolChoices::Words,
    echo: Echo::Field("reasoning_content"),
    thinking: ThinkingSwitch::Template,
    effort: None,
    ..LOCAL
};

impl Quirks {
    /// Those of `kind`.
    pub(super) const fn of(kind: ProviderKind) -> &'static Self {
        match kind {
            ProviderKind::OpenAi => &OPENAI,
            ProviderKind::Azure => &AZURE,
            ProviderKind::DeepSeek => &DEEPSEEK,
            ProviderKind::Qwen => &QWEN,
            ProviderKind::Gemma => &GEMMA,
            ProviderKind::Mistral => &MISTRAL,
            ProviderKind::XAi => &XAI,
            ProviderKind::Groq => &GROQ,
            ProviderKind::Moonshot => &MOONSHOT,
            ProviderKind::Zai => &ZAI,
            ProviderKind::MiniMax => &MINIMAX,
            ProviderKind::ByteDance => &BYTEDANCE,
            ProviderKind::OpenRouter => &OPENROUTER,
            ProviderKind::Ollama => &OLLAMA,
            ProviderKind::LmStudio => &LM_STUDIO,
            ProviderKind::Vllm => &VLLM,
            ProviderKind::LlamaCpp => &LLAMA_CPP,
            // Their own wires speak with them; what still comes here is behind a proxy.
            ProviderKind::Anthropic | ProviderKind::Gemini => &UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_keeps_its_own_encoded_messages() {
        let mut seen = BTreeSet::new();
        for kind in ProviderKind::ALL {
            let quirks = Quirks::of(kind);
            assert_eq!(quirks == &UNKNOWN, matches!(kind, ProviderKind::Anthropic | ProviderKind::Gemini));
            assert!(quirks == &UNKNOWN || quirks.formats.iter().all(|format| seen.insert(*format)), "{kind}");
        }
    }

    #[test]
    fn a_models_name_tells_whether_it_sees() {
        let sees = |kind, model| Quirks::of(kind).images.seen_by(model);
        assert!(sees(ProviderKind::Qwen, "Qwen3-VL-Plus") && !sees(ProviderKind::Qwen, "qwen-plus"));
        assert!(sees(ProviderKind::Zai, "glm-4.5v") && !sees(ProviderKind::Zai, "glm-4.6"));
        assert!(sees(ProviderKind::Ollama, "any"));
        assert!(sees(ProviderKind::MiniMax, "MiniMax-M3") && !sees(ProviderKind::MiniMax, "MiniMax-M2.5"));
    }
}
