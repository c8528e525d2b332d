//! Chunks of Gemini in any order, and anything else, become an answer in order or an error.

#![no_main]

mod answers;

use libfuzzer_sys::fuzz_target;
use robota_providers::{ProviderKind, ProviderSpec};

const WORDS: answers::Words = &[
    r#"data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"~"}]}}],"modelVersion":"x","responseId":"r"}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"text":"~","thought":true,"thoughtSignature":"~"}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"Read","args":{"a":"~"}},"thoughtSignature":"~"}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"i@","name":"Read","willContinue":true}}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a[@].b","stringValue":"~","willContinue":true}],"willContinue":true}}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.~","numberValue":@}],"willContinue":false}}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a.@","boolValue":true}],"willContinue":true}}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"~"}},{"new":"~"}]}}]}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"text":"~"}]},"groundingMetadata":{"webSearchQueries":["~"],"groundingChunks":[{"web":{"uri":"u","title":"t"}}],"groundingSupports":[{"segment":{"startIndex":@,"endIndex":7,"text":"~"},"groundingChunkIndices":[@]}]}}]}"#,
    r#"data: {"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":@}}"#,
    r#"data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"~"}]}"#,
    r#"data: {"promptFeedback":{"blockReason":"SAFETY"}}"#,
    r#"data: {"candidates":[{"index":@,"content":{"parts":[{"text":"~"}]}}]}"#,
    r#"data: {"error":{"code":503,"status":"UNAVAILABLE","message":"~"}}"#,
];

fuzz_target!(|input: &[u8]| {
    if let Some((body, length)) = answers::body(WORDS, input) {
        answers::read(|| ProviderSpec::new(ProviderKind::Gemini), &body, length);
    }
});
