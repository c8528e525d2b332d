//! Events of Anthropic Messages in any order, and anything else, become an answer in order or an error.

#![no_main]

mod answers;

use libfuzzer_sys::fuzz_target;
use robota_providers::{ProviderKind, ProviderSpec};

const WORDS: answers::Words = &[
    r#"data: {"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"text","text":"~"}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"thinking","thinking":"~"}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"redacted_thinking","data":"~"}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"tool_use","id":"~","name":"Read","input":{}}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"server_tool_use","id":"~","name":"web_search","input":{}}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"web_search_tool_result","tool_use_id":"~","content":[]}}"#,
    r#"data: {"type":"content_block_start","index":@,"content_block":{"type":"new","some":"~"}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"text_delta","text":"~"}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"thinking_delta","thinking":"~"}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"signature_delta","signature":"~"}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"input_json_delta","partial_json":"~"}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"~"}}}"#,
    r#"data: {"type":"content_block_delta","index":@,"delta":{"type":"new_delta","some":"~"}}"#,
    r#"data: {"type":"content_block_stop","index":@}"#,
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}"#,
    r#"data: {"type":"message_stop"}"#,
    r#"data: {"type":"ping"}"#,
    r#"data: {"type":"error","error":{"type":"overloaded_error","message":"~"}}"#,
];

fuzz_target!(|input: &[u8]| {
    if let Some((body, length)) = answers::body(WORDS, input) {
        answers::read(|| ProviderSpec::new(ProviderKind::Anthropic), &body, length);
    }
});
