//! OpenAI Chat Completions (protocols F2).

use robota_core::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::{Call, Item};
use crate::script::{Answer, Block, Step, stated_stop, stated_usage};

/// The time stamp in every reply: the first second of 2026.
const CREATED: u64 = 1_767_225_600;

pub(super) fn stream(call: &Call<'_>, steps: &[Step]) -> Vec<Item> {
    let mut writer = Writer { call, items: Vec::new(), begun: false, calls: 0, in_call: false };
    for step in steps {
        let last = writer.write(step);
        if last {
            return writer.items;
        }
    }
    let unasked = steps.iter().any(|step| matches!(step, Step::Usage(Some(_)))) && !call.wants_usage;
    writer.finish(&stated_stop(steps), stated_usage(steps), unasked);
    writer.items
}

struct Writer<'a> {
    call: &'a Call<'a>,
    items: Vec<Item>,
    begun: bool,
    calls: usize,
    in_call: bool,
}

impl Writer<'_> {
    /// Writes one step; true when nothing follows it.
    fn write(&mut self, step: &Step) -> bool {
        self.in_call &= !matches!(step, Step::Text(_) | Step::Thinking { .. });
        match step {
            Step::Text(pieces) => self.each(&pieces.0, "content"),
            Step::Thinking { text, .. } => self.each(&text.0, "reasoning_content"),
            Step::ToolCall { id, name, arguments } => {
                let function = json!({"name": name, "arguments": ""});
                let start = json!({"index": self.calls, "id": id, "type": "function", "function": function});
                self.delta(&json!({"tool_calls": [start]}));
                self.calls += 1;
                self.in_call = true;
                self.arguments(&arguments.0.0);
            }
            Step::Arguments(pieces) if self.in_call => self.arguments(&pieces.0),
            Step::Ping => {
                self.begin();
                self.items.push(Item::Comment("keepalive"));
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
                let error = json!({"message": message, "type": kind, "param": null, "code": kind});
                self.items.push(Item::data(&json!({"error": error})));
                return true;
            }
            // The API has no words for these.
            Step::RedactedThinking(_)
            | Step::ServerTool { .. }
            | Step::Citation(_)
            | Step::Arguments(_)
            | Step::Usage(_)
            | Step::Stop(_)
            | Step::Event(_) => {}
        }
        false
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.choice(&json!({"role": "assistant", "content": ""}));
        }
    }

    fn each(&mut self, pieces: &[String], field: &str) {
        for piece in pieces {
            self.delta(&json!({field: piece}));
        }
    }

    fn arguments(&mut self, pieces: &[String]) {
        for piece in pieces {
            let call = json!({"index": self.calls - 1, "function": {"arguments": piece}});
            self.delta(&json!({"tool_calls": [call]}));
        }
    }

    fn delta(&mut self, delta: &Value) {
        self.begin();
        self.choice(delta);
    }

    fn choice(&mut self, delta: &Value) {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        self.chunk(&json!([choice]), None);
    }

    /// With `unasked`, the last chunk with content has the token counts, as servers do that always send them.
    fn finish(&mut self, stop: &FinishReason, usage: Option<Usage>, unasked: bool) {
        self.begin();
        let choice = json!({"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(stop)});
        self.chunk(&json!([choice]), usage.as_ref().filter(|_| unasked));
        if let (true, Some(usage)) = (self.call.wants_usage, usage) {
            self.chunk(&json!([]), Some(&usage));
        }
        self.items.push(Item::Event { name: None, data: "[DONE]".to_owned() });
    }

    fn chunk(&mut self, choices: &Value, usage: Option<&Usage>) {
        let mut chunk = head(self.call, "chat.completion.chunk");
        chunk.insert("choices".to_owned(), choices.clone());
        if self.call.wants_usage || usage.is_some() {
            chunk.insert("usage".to_owned(), usage.map_or(Value::Null, usage_json));
        }
        self.items.push(Item::data(&Value::Object(chunk)));
    }
}

pub(super) fn whole(call: &Call<'_>, answer: &Answer) -> Value {
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text { text, .. } => content.push_str(text),
            Block::Thinking { text, .. } => reasoning.push_str(text),
            Block::RedactedThinking(_) | Block::ServerTool { .. } => {}
            Block::ToolCall { id, name, arguments } => {
                let function = json!({"name": name, "arguments": arguments});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
        }
    }
    let content = if content.is_empty() { Value::Null } else { content.into() };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let mut body = head(call, "chat.completion");
    let finish_reason = finish_reason(&answer.stop);
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason});
    body.insert("choices".to_owned(), json!([choice]));
    if let Some(usage) = &answer.usage {
        body.insert("usage".to_owned(), usage_json(usage));
    }
    Value::Object(body)
}

fn head(call: &Call<'_>, object: &str) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("id".to_owned(), format!("chatcmpl-fake-{}", call.number).into());
    head.insert("object".to_owned(), object.into());
    head.insert("created".to_owned(), CREATED.into());
    head.insert("model".to_owned(), call.model.as_ref().into());
    head
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.total_input(),
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    })
}

fn finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::ToolUse => "tool_calls",
        FinishReason::MaxTokens | FinishReason::ContextWindow => "length",
        FinishReason::Refusal | FinishReason::ContentFilter => "content_filter",
        FinishReason::Other(reason) => reason,
        _ => "stop",
    }
}
