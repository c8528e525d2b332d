//! Anthropic Messages (protocols F1).

use robota_core::{Citation, FinishReason, Usage};
use serde_json::{Value, json};

use super::{Call, Item};
use crate::script::{Answer, Block, Step, stated_stop, stated_usage};

pub(super) fn stream(call: &Call<'_>, steps: &[Step]) -> Vec<Item> {
    let usage = stated_usage(steps).unwrap_or_default();
    let mut writer = Writer { call, usage, items: Vec::new(), begun: false, index: 0, open: None };
    for step in steps {
        let last = writer.write(step);
        if last {
            return writer.items;
        }
    }
    writer.finish(&stated_stop(steps));
    writer.items
}

struct Writer<'a> {
    call: &'a Call<'a>,
    usage: Usage,
    items: Vec<Item>,
    begun: bool,
    index: usize,
    open: Option<Open>,
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    Text,
    ToolCall,
}

impl Writer<'_> {
    /// Writes one step; true when nothing follows it.
    fn write(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(pieces) => {
                self.open_text();
                for text in &pieces.0 {
                    self.delta(&json!({"type": "text_delta", "text": text}));
                }
            }
            Step::Thinking { text, signature } => {
                self.open_block(&json!({"type": "thinking", "thinking": "", "signature": ""}), None);
                for text in &text.0 {
                    self.delta(&json!({"type": "thinking_delta", "thinking": text}));
                }
                if let Some(signature) = signature {
                    self.delta(&json!({"type": "signature_delta", "signature": signature}));
                }
                self.close_block();
            }
            Step::RedactedThinking(data) => {
                self.open_block(&json!({"type": "redacted_thinking", "data": data}), None);
                self.close_block();
            }
            Step::ToolCall { id, name, arguments } => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.open_block(&block, Some(Open::ToolCall));
                self.arguments(&arguments.0.0);
            }
            Step::Arguments(pieces) if self.open == Some(Open::ToolCall) => self.arguments(&pieces.0),
            Step::ServerTool { id, name, input, result } => self.server_tool(id, name, input, result),
            Step::Citation(citation) => {
                self.open_text();
                self.delta(&json!({"type": "citations_delta", "citation": citation_json(citation)}));
            }
            Step::Ping => {
                self.begin();
                self.event("ping", &json!({"type": "ping"}));
            }
            Step::Gate(name) => self.items.push(Item::Gate(name.clone())),
            Step::PauseMs(millis) => self.items.push(Item::Pause(*millis)),
            Step::Raw(bytes) => self.items.push(Item::raw(&bytes.0)),
            Step::Cut => {
                self.items.push(Item::Cut);
                return true;
            }
            Step::End => return true,
            Step::Error { kind, message } => {
                let error = json!({"type": kind, "message": message});
                self.event("error", &json!({"type": "error", "error": error}));
                return true;
            }
            Step::Arguments(_) | Step::Usage(_) | Step::Stop(_) | Step::Event(_) => {}
        }
        false
    }

    fn server_tool(&mut self, id: &str, name: &str, input: &Value, result: &Value) {
        let call = json!({"type": "server_tool_use", "id": id, "name": name, "input": {}});
        self.open_block(&call, None);
        self.delta(&json!({"type": "input_json_delta", "partial_json": input.to_string()}));
        self.close_block();
        if !result.is_null() {
            self.open_block(&tool_result(id, name, result), None);
            self.close_block();
        }
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            let usage = usage_json(&self.usage, self.usage.output_tokens.min(1));
            let message = json!({
                "id": format!("msg_fake_{}", self.call.number), "type": "message", "role": "assistant",
                "model": self.call.model, "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": usage,
            });
            self.event("message_start", &json!({"type": "message_start", "message": message}));
        }
    }

    fn open_text(&mut self) {
        if self.open != Some(Open::Text) {
            self.open_block(&json!({"type": "text", "text": ""}), Some(Open::Text));
        }
    }

    fn open_block(&mut self, block: &Value, open: Option<Open>) {
        self.begin();
        if self.open.is_some() {
            self.close_block();
        }
        self.open = open;
        let start = json!({"type": "content_block_start", "index": self.index, "content_block": block});
        self.event("content_block_start", &start);
    }

    fn close_block(&mut self) {
        self.open = None;
        let stop = json!({"type": "content_block_stop", "index": self.index});
        self.event("content_block_stop", &stop);
        self.index += 1;
    }

    fn arguments(&mut self, pieces: &[String]) {
        for piece in pieces {
            self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
    }

    fn delta(&mut self, delta: &Value) {
        let event = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        self.event("content_block_delta", &event);
    }

    fn finish(&mut self, stop: &FinishReason) {
        self.begin();
        if self.open.is_some() {
            self.close_block();
        }
        let delta = json!({"stop_reason": stop_reason(stop), "stop_sequence": null});
        let usage = json!({"output_tokens": self.usage.output_tokens});
        self.event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
        self.event("message_stop", &json!({"type": "message_stop"}));
    }

    fn event(&mut self, name: &'static str, data: &Value) {
        self.items.push(Item::event(name, data));
    }
}

pub(super) fn whole(call: &Call<'_>, answer: &Answer) -> Value {
    let blocks = answer.blocks.iter().flat_map(blocks);
    let usage = answer.usage.unwrap_or_default();
    json!({
        "id": format!("msg_fake_{}", call.number), "type": "message", "role": "assistant",
        "model": call.model, "content": blocks.collect::<Vec<_>>(),
        "stop_reason": stop_reason(&answer.stop), "stop_sequence": null,
        "usage": usage_json(&usage, usage.output_tokens),
    })
}

/// The blocks in the place of one: a tool of the service brings its result with it.
fn blocks(block: &Block) -> Vec<Value> {
    vec![match block {
        Block::Text { text, citations } if citations.is_empty() => json!({"type": "text", "text": text}),
        Block::Text { text, citations } => {
            let citations = citations.iter().map(citation_json).collect::<Vec<_>>();
            json!({"type": "text", "text": text, "citations": citations})
        }
        Block::Thinking { text, signature } => {
            let signature = signature.as_deref().unwrap_or_default();
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::RedactedThinking(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolCall { id, name, arguments } => {
            let text = if arguments.trim().is_empty() { "{}" } else { arguments };
            // Only the stream can carry malformed arguments as they are.
            let input = serde_json::from_str(text).unwrap_or_else(|_| Value::String(arguments.clone()));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Block::ServerTool { id, name, input, result } => {
            let call = json!({"type": "server_tool_use", "id": id, "name": name, "input": input});
            let result = (!result.is_null()).then(|| tool_result(id, name, result));
            return std::iter::once(call).chain(result).collect();
        }
    }]
}

fn tool_result(id: &str, name: &str, result: &Value) -> Value {
    json!({"type": format!("{name}_tool_result"), "tool_use_id": id, "content": result})
}

fn citation_json(citation: &Citation) -> Value {
    json!({
        "type": "web_search_result_location", "url": citation.url, "title": citation.title,
        "cited_text": citation.text.as_deref().unwrap_or_default(), "encrypted_index": "index",
    })
}

fn usage_json(usage: &Usage, output_tokens: u64) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": output_tokens,
    })
}

fn stop_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::EndTurn => "end_turn",
        FinishReason::ToolUse => "tool_use",
        FinishReason::MaxTokens => "max_tokens",
        FinishReason::StopSequence => "stop_sequence",
        FinishReason::Refusal | FinishReason::ContentFilter => "refusal",
        FinishReason::ContextWindow => "model_context_window_exceeded",
        FinishReason::PauseTurn => "pause_turn",
        FinishReason::Other(reason) => reason,
        _ => "end_turn",
    }
}
