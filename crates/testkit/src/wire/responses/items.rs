//! The items of a response.

use robota_core::Citation;
use serde_json::{Value, json};

use crate::script::Block;
use crate::wire::Call;

/// The one tool of the service that replies know.
pub(super) const WEB_SEARCH: &str = "web_search";

/// The item number `at` of a whole response.
pub(super) fn of(call: &Call<'_>, at: usize, block: &Block) -> Value {
    let id = |prefix| id(call, prefix, at);
    match block {
        Block::Text { text, citations } => {
            let end = text.chars().count();
            let annotations = citations.iter().map(|citation| annotation(citation, end)).collect::<Vec<_>>();
            message(&id("msg"), "completed", &[output_text(text, &annotations)])
        }
        Block::Thinking { text, signature } => {
            reasoning(&id("rs"), text, signature.as_deref().filter(|_| call.wants_encrypted))
        }
        Block::RedactedThinking(data) => {
            reasoning(&id("rs"), "", Some(data.as_str()).filter(|_| call.wants_encrypted))
        }
        Block::ToolCall { id: call_id, name, arguments } => {
            function_call(&id("fc"), "completed", call_id, name, arguments)
        }
        Block::ServerTool { id, input, .. } => web_search_call(id, "completed", input),
    }
}

pub(super) fn id(call: &Call<'_>, prefix: &str, at: usize) -> String {
    format!("{prefix}_fake_{}_{at}", call.number)
}

pub(super) fn message(id: &str, status: &str, content: &[Value]) -> Value {
    json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
}

pub(super) fn output_text(text: &str, annotations: &[Value]) -> Value {
    json!({"type": "output_text", "text": text, "annotations": annotations, "logprobs": []})
}

/// A source of the last character of a text that is `end` characters long so far.
pub(super) fn annotation(citation: &Citation, end: usize) -> Value {
    json!({
        "type": "url_citation", "start_index": end.saturating_sub(1), "end_index": end,
        "url": citation.url.as_deref().unwrap_or_default(),
        "title": citation.title.as_deref().unwrap_or_default(),
    })
}

pub(super) fn reasoning(id: &str, summary: &str, proof: Option<&str>) -> Value {
    let parts = (!summary.is_empty()).then(|| json!({"type": "summary_text", "text": summary}));
    let mut item = json!({"id": id, "type": "reasoning", "summary": parts.into_iter().collect::<Vec<_>>()});
    if let Some(proof) = proof {
        item["encrypted_content"] = proof.into();
    }
    item
}

pub(super) fn function_call(id: &str, status: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
        "arguments": arguments,
    })
}

pub(super) fn web_search_call(id: &str, status: &str, input: &Value) -> Value {
    let action = json!({"type": "search", "query": input["query"]});
    json!({"id": id, "type": "web_search_call", "status": status, "action": action})
}

pub(super) fn web_search_event(name: &str) -> &'static str {
    match name {
        "in_progress" => "response.web_search_call.in_progress",
        "searching" => "response.web_search_call.searching",
        _ => "response.web_search_call.completed",
    }
}
