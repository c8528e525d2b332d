//! One suite for all providers: what an agent relies on, whichever API is behind the port.
//!
//! A [`Subject`](subject::Subject) is a provider under test; a [`Case`](case::Case) is one promise, kept by every subject that can
//! be asked for it. What a subject cannot be asked for is data, with the reason; how many cases each subject runs is
//! asserted. To test a further provider, add a line to the table below.

mod calls;
mod capturing;
mod case;
mod content;
mod endings;
pub(crate) mod events;
mod framing;
mod history;
mod recording;
mod refusals;
mod replaying;
mod retrying;
mod stage;
mod subject;
mod transport;
mod waiting;

use case::{Case, run_cases};
use robota_providers::{ApiSurface, ProviderKind};
use robota_testkit::Dialect;
use subject::{Make, Subject};

/// All cases, by topic.
const TOPICS: [&[Case]; 10] = [
    content::CASES,
    calls::CASES,
    framing::CASES,
    endings::CASES,
    waiting::CASES,
    transport::CASES,
    refusals::CASES,
    history::CASES,
    capturing::CASES,
    retrying::CASES,
];

/// Fewest cases of a provider behind HTTP.
const FEWEST: usize = 60;

macro_rules! subjects {
    ($($name:ident => $subject:expr;)*) => {$(
        mod $name {
            use super::*;

            static SUBJECT: Subject = $subject;

            subjects!(@topics content calls framing endings waiting transport refusals history capturing retrying);

            #[test]
            fn it_runs_enough_cases() {
                let cases = || TOPICS.iter().copied().flatten();
                let run = cases().filter(|case| case.skipped(&SUBJECT).is_none()).count();
                for (case, reason) in cases().filter_map(|case| Some((case, case.skipped(&SUBJECT)?))) {
                    println!("skipped for {}: {}: {reason}", SUBJECT.name, case.name);
                }
                println!("{}: {run} cases", SUBJECT.name);
                assert!(run >= FEWEST || !SUBJECT.has_http(), "only {run} cases");
                assert!(run >= 20, "only {run} cases");
            }
        }
    )*};
    (@topics $($topic:ident)*) => {$(
        #[tokio::test]
        async fn $topic() {
            run_cases(&SUBJECT, super::$topic::CASES).await;
        }
    )*};
}

/// A server that speaks Chat Completions as OpenAI does, more or less.
const fn chat(kind: ProviderKind) -> Subject {
    Subject::http(kind, Dialect::OpenAiChat).sampled()
}

subjects! {
    anthropic => Subject::http(ProviderKind::Anthropic, Dialect::AnthropicMessages);
    openai_responses => Subject::http(ProviderKind::OpenAi, Dialect::OpenAiResponses)
        .with(|spec| spec.options.api_surface = Some(ApiSurface::Responses))
        .sampled_every(5);
    gemini => Subject::http(ProviderKind::Gemini, Dialect::Gemini);
    openai_chat => Subject::http(ProviderKind::OpenAi, Dialect::OpenAiChat)
        .with(|spec| spec.options.api_surface = Some(ApiSurface::Chat));
    deepseek => chat(ProviderKind::DeepSeek);
    qwen => chat(ProviderKind::Qwen);
    gemma => Subject::http(ProviderKind::Gemma, Dialect::OpenAiChat).sampled_every(7);
    mistral => chat(ProviderKind::Mistral);
    ollama => chat(ProviderKind::Ollama);
    openrouter => chat(ProviderKind::OpenRouter);
    vllm => chat(ProviderKind::Vllm);
    llamacpp => chat(ProviderKind::LlamaCpp);
    lmstudio => chat(ProviderKind::LmStudio);
    groq => chat(ProviderKind::Groq);
    xai => chat(ProviderKind::XAi);
    moonshot => chat(ProviderKind::Moonshot);
    zai => chat(ProviderKind::Zai);
    minimax => chat(ProviderKind::MiniMax);
    bytedance => chat(ProviderKind::ByteDance);
    scripted => Subject::in_process("scripted", Make::Script);
    replay => Subject::in_process("replay", Make::Recording);
}
