//! Chunks of Chat Completions in any order, and anything else, become an answer in order or an error: read plainly, with
//! markup, and with reasoning details.

#![no_main]

mod answers;

use libfuzzer_sys::fuzz_target;
use robota_providers::{ApiSurface, ProviderKind, ProviderSpec};

const WORDS: answers::Words = &[
    r#"data: {"id":"c","model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":"~"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":"<think>~"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"reasoning_content":"~"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"reasoning":"~","reasoning_details":[{"type":"reasoning.text","text":"~","index":@}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"id":"~","function":{"name":"Read","arguments":""}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"function":{"arguments":"~"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"i@","function":{"name":"~","arguments":"~"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"function":{"name":"Re","arguments":{"a":1}}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"function_call":{"name":"Read","arguments":"~"}}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":"<tool_call>\n{\"name\": \"Read\", \"arguments\": {}}\n</tool_call>"}}]}"#,
    r#"data: {"choices":[{"index":@,"message":{"role":"assistant","content":"~","tool_calls":[{"id":"i","function":{"name":"Read","arguments":"~"}}]},"finish_reason":"stop"}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"refusal":"~"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    r#"data: {"error":{"message":"~","code":500}}"#,
    "data: [DONE]",
];

fuzz_target!(|input: &[u8]| {
    if let Some((body, length)) = answers::body(WORDS, input) {
        for (kind, markup) in
            [(ProviderKind::OpenAi, false), (ProviderKind::OpenAi, true), (ProviderKind::OpenRouter, false)]
        {
            let spec = || {
                let mut spec = ProviderSpec::new(kind);
                spec.options.api_surface = Some(ApiSurface::Chat);
                spec.options.inline_markup = Some(markup);
                spec
            };
            answers::read(spec, &body, length);
        }
    }
});
