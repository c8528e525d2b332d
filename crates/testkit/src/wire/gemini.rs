//! Google Gemini (protocols F3).

use robota_core::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::{Call, Item};
use crate::script::{Answer, Block, Step, stated_stop, stated_usage};

pub(super) fn stream(call: &Call<'_>, steps: &[Step]) -> Vec<Item> {
    let mut writer = Writer { call, items: Vec::new(), open: None, signature: None };
    for step in steps {
        let last = writer.write(step);
        if last {
            return writer.items;
        }
    }
    writer.finish(&stated_stop(steps), stated_usage(steps));
    writer.items
}

struct Writer<'a> {
    call: &'a Call<'a>,
    items: Vec<Item>,
    /// A call whose arguments are not complete: this API sends calls whole.
    open: Option<(Value, String)>,
    /// The proof of the thinking, which goes with the next call, or else with the end of the answer.
    signature: Option<String>,
}

impl Writer<'_> {
    /// Writes one step; true when nothing follows it.
    fn write(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(pieces) => self.each(&pieces.0, |text| json!({"text": text})),
            Step::Thinking { text, signature } => {
                self.each(&text.0, |text| json!({"text": text, "thought": true}));
                self.signature = signature.clone().or(self.signature.take());
            }
            Step::ToolCall { id, name, arguments } => {
                self.close();
                self.open = Some((head(id, name), arguments.joined()));
            }
            Step::Arguments(pieces) => {
                if let Some((_, arguments)) = &mut self.open {
                    arguments.push_str(&pieces.joined());
                }
            }
            Step::Ping => self.items.push(Item::Comment("keepalive")),
            Step::Gate(name) => self.items.push(Item::Gate(name.clone())),
            Step::PauseMs(millis) => self.items.push(Item::Pause(*millis)),
            Step::Raw(bytes) => {
                self.close();
                self.items.push(Item::raw(&bytes.0));
            }
            Step::Cut => {
                self.close_whole();
                self.items.push(Item::Cut);
                return true;
            }
            Step::End => {
                self.close_whole();
                return true;
            }
            Step::Error { kind, message } => {
                self.close_whole();
                let (code, status) = status_of_kind(kind);
                self.items.push(Item::data(&json!({
                    "error": {"code": code, "message": message, "status": status},
                })));
                return true;
            }
            Step::RedactedThinking(_)
            | Step::ServerTool { .. }
            | Step::Citation(_)
            | Step::Usage(_)
            | Step::Stop(_)
            | Step::Event(_) => {}
        }
        false
    }

    fn each(&mut self, pieces: &[String], part: impl Fn(&str) -> Value) {
        self.close();
        for piece in pieces {
            self.parts(&json!([part(piece)]));
        }
    }

    /// Sends the call in hand.
    fn close(&mut self) {
        let Some((head, arguments)) = self.open.take() else { return };
        let mut part = function_call(head, &arguments);
        if let Some(signature) = self.signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        self.parts(&json!([part]));
    }

    /// Sends the call in hand if it is whole: the service never sends half of one.
    fn close_whole(&mut self) {
        let whole = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
        if self.open.as_ref().is_some_and(|(_, arguments)| whole(arguments)) {
            self.close();
        }
    }

    fn parts(&mut self, parts: &Value) {
        let candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        self.items.push(Item::data(&response(self.call, &candidate, None)));
    }

    fn finish(&mut self, stop: &FinishReason, usage: Option<Usage>) {
        self.close();
        // Google's own clients throw away answers with a chunk that has no content.
        let mut part = json!({"text": ""});
        if let Some(signature) = self.signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        let content = json!({"role": "model", "parts": [part]});
        let candidate = json!({"content": content, "finishReason": finish_reason(stop), "index": 0});
        self.items.push(Item::data(&response(self.call, &candidate, usage)));
    }
}

pub(super) fn whole(call: &Call<'_>, answer: &Answer) -> Value {
    let mut signature = None;
    let mut parts = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text { text, .. } => parts.push(json!({"text": text})),
            Block::Thinking { text, signature: proof } => {
                parts.push(json!({"text": text, "thought": true}));
                signature = proof.clone().or(signature);
            }
            Block::RedactedThinking(_) | Block::ServerTool { .. } => {}
            Block::ToolCall { id, name, arguments } => {
                let mut part = function_call(head(id, name), arguments);
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = signature.into();
                }
                parts.push(part);
            }
        }
    }
    if let (Some(signature), Some(last)) = (signature, parts.last_mut()) {
        last["thoughtSignature"] = signature.into();
    }
    let candidate = json!({
        "content": {"role": "model", "parts": parts}, "finishReason": finish_reason(&answer.stop), "index": 0,
    });
    response(call, &candidate, answer.usage)
}

/// The list of models, in one page.
pub(crate) fn models(ids: &[String]) -> Value {
    let model = |id: &String| {
        json!({
            "name": format!("models/{id}"), "version": "001", "displayName": id,
            "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        })
    };
    json!({"models": ids.iter().map(model).collect::<Vec<_>>()})
}

/// HTTP status and name of the failure that steps and other APIs call `kind`.
fn status_of_kind(kind: &str) -> (u16, &str) {
    match kind {
        "overloaded_error" => (503, "UNAVAILABLE"),
        "rate_limit_error" => (429, "RESOURCE_EXHAUSTED"),
        "UNAVAILABLE" => (503, kind),
        "RESOURCE_EXHAUSTED" => (429, kind),
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => (400, kind),
        "UNAUTHENTICATED" => (401, kind),
        "PERMISSION_DENIED" => (403, kind),
        "NOT_FOUND" => (404, kind),
        "DEADLINE_EXCEEDED" => (504, kind),
        "api_error" | "server_error" => (500, "INTERNAL"),
        _ => (500, kind),
    }
}

fn head(id: &str, name: &str) -> Value {
    if id.is_empty() { json!({"name": name}) } else { json!({"id": id, "name": name}) }
}

/// The part of a call. Arguments that are no JSON object, which the service never sends, stay text.
fn function_call(mut call: Value, arguments: &str) -> Value {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let args = serde_json::from_str::<Map<String, Value>>(text).map(Value::Object);
    call["args"] = args.unwrap_or_else(|_| arguments.into());
    json!({"functionCall": call})
}

fn response(call: &Call<'_>, candidate: &Value, usage: Option<Usage>) -> Value {
    let mut response = json!({
        "candidates": [candidate], "modelVersion": call.model,
        "responseId": format!("resp_fake_{}", call.number),
    });
    if let Some(usage) = usage {
        response["usageMetadata"] = json!({
            "promptTokenCount": usage.total_input(),
            "cachedContentTokenCount": usage.cache_read_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.total(),
        });
    }
    response
}

fn finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::MaxTokens | FinishReason::ContextWindow => "MAX_TOKENS",
        FinishReason::Refusal | FinishReason::ContentFilter => "SAFETY",
        FinishReason::Other(reason) => reason,
        _ => "STOP",
    }
}
