//! Whatever Gemma writes, and however the text is cut, thinking, text and calls are the same.

#![no_main]

mod answers;

use libfuzzer_sys::fuzz_target;
use robota_providers::{ProviderKind, ProviderSpec};
use serde_json::json;

fuzz_target!(|input: (u8, &str)| {
    let (length, text) = (usize::from(input.0).max(1), input.1);
    if text.is_empty() {
        return;
    }
    let letters: Vec<char> = text.chars().collect();
    let whole = chat([text.to_owned()]);
    let cut = chat(letters.chunks(length).map(|piece| piece.iter().collect::<String>()));
    answers::compare(|| ProviderSpec::new(ProviderKind::Gemma), whole.as_bytes(), cut.as_bytes());
});

/// A stream of Chat Completions with these pieces of text.
fn chat(pieces: impl IntoIterator<Item = String>) -> String {
    let piece = |text| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    let mut body: String = pieces.into_iter().map(piece).collect();
    body.push_str("data: [DONE]\n\n");
    body
}
