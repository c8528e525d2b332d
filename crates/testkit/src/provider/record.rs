//! A model request in the form that rules and responders read.

use std::collections::BTreeMap;

use bytes::Bytes;
use robota_core::{Body, Message, ModelRequest, Part, ToolChoice};
use serde_json::{Value, json};

use crate::{Dialect, RecordedRequest};

/// The record of a request; without `body`, only that there was one.
pub(super) fn of(request: &ModelRequest, body: bool) -> RecordedRequest {
    RecordedRequest {
        number: 0,
        connection: 0,
        dialect: Some(Dialect::InProcess),
        method: String::new(),
        path: String::new(),
        query: None,
        headers: BTreeMap::new(),
        body: Bytes::new(),
        json: body.then(|| body_json(request)),
    }
}

fn body_json(request: &ModelRequest) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": &*request.system}));
    }
    messages.extend(request.messages.iter().map(|message| message_json(message)));
    let tools = request.tools.iter().map(|tool| {
        let function =
            json!({"name": tool.name, "description": tool.description, "parameters": tool.input_schema});
        json!({"type": "function", "function": function})
    });
    let tools = tools.collect::<Vec<_>>();
    json!({
        "model": &*request.model,
        "messages": messages,
        "tools": if tools.is_empty() { Value::Null } else { tools.into() },
        "tool_choice": tool_choice(&request.tool_choice),
        "max_tokens": request.max_output_tokens,
        "stream": true,
    })
}

fn message_json(message: &Message) -> Value {
    match &message.body {
        Body::User { content, parts, .. } => json!({"role": "user", "content": with_parts(content, parts)}),
        Body::System { content } => json!({"role": "system", "content": content}),
        Body::Tool { content, tool_call_id, parts, is_error, .. } => json!({
            "role": "tool", "tool_call_id": tool_call_id, "is_error": is_error,
            "content": with_parts(content, parts),
        }),
        Body::Assistant { content, parts, tool_calls, reasoning } => {
            let content = match content.as_deref() {
                // A message of thinking alone has nothing to show here, but is not empty.
                None | Some("") if !reasoning.is_empty() => {
                    json!([{"type": "reasoning", "reasoning": reasoning}])
                }
                None if parts.is_empty() => Value::Null,
                text => with_parts(text.unwrap_or_default(), parts),
            };
            let mut json = json!({"role": "assistant", "content": content});
            if !tool_calls.is_empty() {
                json["tool_calls"] = json!(tool_calls);
            }
            json
        }
    }
}

/// Text alone as a string, with further parts as blocks.
fn with_parts(text: &str, parts: &[Part]) -> Value {
    if parts.is_empty() {
        return text.into();
    }
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    text.into_iter().chain(parts.iter().map(|part| json!(part))).collect()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
        _ => "auto".into(),
    }
}
