//! Events of OpenAI Responses in any order, and anything else, become an answer in order or an error.

#![no_main]

mod answers;

use libfuzzer_sys::fuzz_target;
use robota_providers::{ApiSurface, ProviderKind, ProviderSpec};

const WORDS: answers::Words = &[
    r#"data: {"type":"response.created","response":{"id":"r","model":"x","status":"in_progress"}}"#,
    r#"data: {"type":"response.output_item.added","output_index":@,"item":{"type":"message","id":"i@","role":"assistant","content":[]}}"#,
    r#"data: {"type":"response.output_item.added","output_index":@,"item":{"type":"function_call","id":"i@","call_id":"~","name":"Read","arguments":""}}"#,
    r#"data: {"type":"response.output_item.added","output_index":@,"item":{"type":"reasoning","id":"i@","summary":[]}}"#,
    r#"data: {"type":"response.output_item.added","output_index":@,"item":{"type":"web_search_call","id":"i@","status":"in_progress"}}"#,
    r#"data: {"type":"response.output_text.delta","output_index":@,"content_index":0,"item_id":"i@","delta":"~"}"#,
    r#"data: {"type":"response.output_text.done","output_index":@,"content_index":0,"item_id":"i@","text":"~"}"#,
    r#"data: {"type":"response.refusal.delta","output_index":@,"item_id":"i@","delta":"~"}"#,
    r#"data: {"type":"response.reasoning_summary_text.delta","output_index":@,"summary_index":@,"item_id":"i@","delta":"~"}"#,
    r#"data: {"type":"response.reasoning_text.delta","output_index":@,"content_index":@,"item_id":"i@","delta":"~"}"#,
    r#"data: {"type":"response.function_call_arguments.delta","output_index":@,"item_id":"i@","delta":"~"}"#,
    r#"data: {"type":"response.function_call_arguments.done","output_index":@,"item_id":"i@","arguments":"~"}"#,
    r#"data: {"type":"response.output_item.done","output_index":@,"item":{"type":"message","id":"i@","role":"assistant","content":[{"type":"output_text","text":"~","annotations":[{"type":"url_citation","url":"u","title":"t"}]}]}}"#,
    r#"data: {"type":"response.output_item.done","output_index":@,"item":{"type":"function_call","id":"i@","call_id":"c@","name":"Read","arguments":"~"}}"#,
    r#"data: {"type":"response.output_item.done","output_index":@,"item":{"type":"reasoning","id":"i@","summary":[{"type":"summary_text","text":"~"}],"encrypted_content":"~"}}"#,
    r#"data: {"type":"response.output_item.done","output_index":@,"item":{"type":"web_search_call","id":"i@","status":"completed","action":{"type":"search","query":"~"}}}"#,
    r#"data: {"type":"response.output_text.annotation.added","output_index":@,"item_id":"i@","annotation":{"type":"url_citation","url":"~","title":"t"}}"#,
    r#"data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"i@","role":"assistant","content":[{"type":"output_text","text":"~"}]},{"type":"function_call","id":"i@","call_id":"c","name":"Read","arguments":"~"}],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
    r#"data: {"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
    r#"data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"~"}}}"#,
    "data: [DONE]",
];

fuzz_target!(|input: &[u8]| {
    if let Some((body, length)) = answers::body(WORDS, input) {
        let spec = || {
            let mut spec = ProviderSpec::new(ProviderKind::OpenAi);
            spec.options.api_surface = Some(ApiSurface::Responses);
            spec
        };
        answers::read(spec, &body, length);
    }
});
