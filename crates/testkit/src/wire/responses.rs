//! OpenAI Responses (protocols F2).

mod items;

use robota_core::{Citation, FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::{Call, Item};
use crate::script::{Answer, Block, Step, stated_stop, stated_usage};

/// The time stamp in every reply: the first second of 2026.
const CREATED: u64 = 1_767_225_600;

pub(super) fn stream(call: &Call<'_>, steps: &[Step]) -> Vec<Item> {
    let mut writer = Writer {
        call,
        items: Vec::new(),
        sequence: 0,
        begun: false,
        output: Vec::new(),
        current: String::new(),
        open: None,
    };
    for step in steps {
        let last = writer.write(step);
        if last {
            return writer.items;
        }
    }
    writer.finish(&stated_stop(steps), stated_usage(steps));
    writer.items
}

/// The answer as one document.
pub(super) fn whole(call: &Call<'_>, answer: &Answer) -> Value {
    let known =
        |block: &&Block| !matches!(block, Block::ServerTool { name, .. } if name != items::WEB_SEARCH);
    let blocks = answer.blocks.iter().filter(known).enumerate();
    let output = blocks.map(|(at, block)| items::of(call, at, block)).collect();
    let (status, details) = outcome(&answer.stop);
    response(call, status, &details, output, answer.usage.as_ref())
}

struct Writer<'a> {
    call: &'a Call<'a>,
    items: Vec<Item>,
    sequence: u64,
    begun: bool,
    /// The items that are complete.
    output: Vec<Value>,
    /// Id of the item in hand.
    current: String,
    open: Option<Open>,
}

/// The item that more may be added to.
enum Open {
    Text { text: String, annotations: Vec<Value> },
    ToolCall { id: String, name: String, arguments: String },
}

impl Writer<'_> {
    /// Writes one step; true when nothing follows it.
    fn write(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(pieces) => self.text(&pieces.0),
            Step::Citation(citation) => self.citation(citation),
            Step::Thinking { text, signature } => self.reasoning(&text.0, signature.as_deref()),
            Step::RedactedThinking(data) => self.reasoning(&[], Some(data)),
            Step::ToolCall { id, name, arguments } => {
                self.open_call(id, name);
                self.arguments(&arguments.0.0);
            }
            Step::Arguments(pieces) => self.arguments(&pieces.0),
            Step::ServerTool { id, name, input, .. } => self.server_tool(id, name, input),
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
                self.fail(kind, message);
                return true;
            }
            Step::Usage(_) | Step::Stop(_) | Step::Event(_) => {}
        }
        false
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            let response = response(self.call, "in_progress", &Value::Null, Vec::new(), None);
            self.event("response.created", json!({"response": response}));
            self.event("response.in_progress", json!({"response": response}));
        }
    }

    fn text(&mut self, pieces: &[String]) {
        self.open_text();
        for piece in pieces {
            self.on_item(
                "response.output_text.delta",
                json!({"delta": piece, "logprobs": []}),
                Some("content"),
            );
            if let Some(Open::Text { text, .. }) = &mut self.open {
                text.push_str(piece);
            }
        }
    }

    fn open_text(&mut self) {
        if matches!(self.open, Some(Open::Text { .. })) {
            return;
        }
        self.close();
        let item = items::message(&self.id("msg"), "in_progress", &[]);
        self.add(&item);
        let part = items::output_text("", &[]);
        self.open = Some(Open::Text { text: String::new(), annotations: Vec::new() });
        self.on_item("response.content_part.added", json!({"part": part}), Some("content"));
    }

    fn citation(&mut self, citation: &Citation) {
        self.open_text();
        let Some(Open::Text { text, annotations }) = &mut self.open else { return };
        let annotation = items::annotation(citation, text.chars().count());
        let index = annotations.len();
        annotations.push(annotation.clone());
        let fields = json!({"annotation_index": index, "annotation": annotation});
        self.on_item("response.output_text.annotation.added", fields, Some("content"));
    }

    fn reasoning(&mut self, pieces: &[String], proof: Option<&str>) {
        self.close();
        let id = self.id("rs");
        self.add(&items::reasoning(&id, "", None));
        let text = pieces.concat();
        if !text.is_empty() {
            let empty = json!({"part": {"type": "summary_text", "text": ""}});
            self.on_item("response.reasoning_summary_part.added", empty, Some("summary"));
            for piece in pieces {
                self.on_item(
                    "response.reasoning_summary_text.delta",
                    json!({"delta": piece}),
                    Some("summary"),
                );
            }
            self.on_item("response.reasoning_summary_text.done", json!({"text": text}), Some("summary"));
            let part = json!({"part": {"type": "summary_text", "text": text}});
            self.on_item("response.reasoning_summary_part.done", part, Some("summary"));
        }
        let proof = proof.filter(|_| self.call.wants_encrypted);
        self.done(items::reasoning(&id, &text, proof));
    }

    fn open_call(&mut self, id: &str, name: &str) {
        self.close();
        let item = items::function_call(&self.id("fc"), "in_progress", id, name, "");
        self.add(&item);
        self.open =
            Some(Open::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: String::new() });
    }

    fn arguments(&mut self, pieces: &[String]) {
        for piece in pieces {
            let Some(Open::ToolCall { arguments, .. }) = &mut self.open else { return };
            arguments.push_str(piece);
            self.on_item("response.function_call_arguments.delta", json!({"delta": piece}), None);
        }
    }

    fn server_tool(&mut self, id: &str, name: &str, input: &Value) {
        if name != items::WEB_SEARCH {
            return;
        }
        self.close();
        self.add(&items::web_search_call(id, "in_progress", input));
        for event in ["in_progress", "searching", "completed"] {
            let fields = json!({"item_id": id, "output_index": self.output.len()});
            self.event(items::web_search_event(event), fields);
        }
        self.done(items::web_search_call(id, "completed", input));
    }

    /// Ends the item in hand.
    fn close(&mut self) {
        match self.open.take() {
            Some(Open::Text { text, annotations }) => {
                let part = items::output_text(&text, &annotations);
                self.on_item(
                    "response.output_text.done",
                    json!({"text": text, "logprobs": []}),
                    Some("content"),
                );
                self.on_item("response.content_part.done", json!({"part": part}), Some("content"));
                self.done(items::message(&self.current, "completed", &[part]));
            }
            Some(Open::ToolCall { id, name, arguments }) => {
                let done = json!({"name": name, "arguments": arguments});
                self.on_item("response.function_call_arguments.done", done, None);
                self.done(items::function_call(&self.current, "completed", &id, &name, &arguments));
            }
            None => {}
        }
    }

    fn finish(&mut self, stop: &FinishReason, usage: Option<Usage>) {
        self.begin();
        self.close();
        let (status, details) = outcome(stop);
        let response =
            response(self.call, status, &details, std::mem::take(&mut self.output), usage.as_ref());
        let name = if status == "completed" { "response.completed" } else { "response.incomplete" };
        self.event(name, json!({"response": response}));
    }

    /// Before the answer has begun an `error`, within it a failed response.
    fn fail(&mut self, code: &str, message: &str) {
        if !self.begun {
            return self.event("error", json!({"code": code, "message": message, "param": null}));
        }
        let mut response = response(self.call, "failed", &Value::Null, self.output.clone(), None);
        response["error"] = json!({"code": code, "message": message});
        self.event("response.failed", json!({"response": response}));
    }

    fn add(&mut self, item: &Value) {
        self.begin();
        item["id"].as_str().unwrap_or_default().clone_into(&mut self.current);
        let fields = json!({"output_index": self.output.len(), "item": item});
        self.event("response.output_item.added", fields);
    }

    fn done(&mut self, item: Value) {
        let fields = json!({"output_index": self.output.len(), "item": item});
        self.event("response.output_item.done", fields);
        self.output.push(item);
    }

    /// An event about the item in hand, or its only part in the list `part`.
    fn on_item(&mut self, name: &'static str, mut fields: Value, part: Option<&str>) {
        fields["item_id"] = self.current.as_str().into();
        fields["output_index"] = self.output.len().into();
        if let Some(part) = part {
            fields[format!("{part}_index")] = 0.into();
        }
        self.event(name, fields);
    }

    /// An id for the next item.
    fn id(&self, prefix: &str) -> String {
        items::id(self.call, prefix, self.output.len())
    }

    fn event(&mut self, name: &'static str, mut fields: Value) {
        fields["type"] = name.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.items.push(Item::event(name, &fields));
    }
}

/// Status and `incomplete_details` of a response that ended so.
fn outcome(stop: &FinishReason) -> (&'static str, Value) {
    let reason = match stop {
        FinishReason::MaxTokens | FinishReason::ContextWindow => "max_output_tokens",
        FinishReason::Refusal | FinishReason::ContentFilter => "content_filter",
        FinishReason::Other(reason) => reason,
        _ => return ("completed", Value::Null),
    };
    ("incomplete", json!({"reason": reason}))
}

fn response(
    call: &Call<'_>,
    status: &str,
    incomplete_details: &Value,
    output: Vec<Value>,
    usage: Option<&Usage>,
) -> Value {
    let mut response = Map::new();
    let mut set = |name: &str, value: Value| response.insert(name.to_owned(), value);
    set("id", format!("resp_fake_{}", call.number).into());
    set("object", "response".into());
    set("created_at", CREATED.into());
    set("status", status.into());
    set("error", Value::Null);
    set("incomplete_details", incomplete_details.clone());
    set("instructions", Value::Null);
    set("model", call.model.as_ref().into());
    set("output", output.into());
    set("parallel_tool_calls", true.into());
    set("tool_choice", "auto".into());
    set("tools", json!([]));
    set("usage", usage.map_or(Value::Null, usage_json));
    set("metadata", json!({}));
    Value::Object(response)
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.total_input(),
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total(),
    })
}
