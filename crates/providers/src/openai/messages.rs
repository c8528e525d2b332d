//! One message as a Chat Completions message.

use std::borrow::Cow;

use robota_core::{Body, Message, MessageState, Part, Reasoning, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call_id;
use super::quirks::{CallIds, Echo, NoContent, Quirks};
use super::reasoning;
use crate::{carried, json, phrasing};

/// Separates what may stand between the results of one batch of calls from what must wait for its
/// end. JSON as it is written here has no line breaks.
pub(super) const BATCH_END: u8 = b'\n';

/// How messages are written for one server and model.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    pub(super) quirks: &'static Quirks,
    /// Id of the provider, whose own thinking goes back to it.
    pub(super) provider: &'a str,
    /// Images are left out.
    pub(super) blind: bool,
    /// Calls and results are written as text.
    pub(super) text_tools: bool,
}

impl Manner<'_> {
    /// Name of messages in this form.
    pub(super) fn format(&self) -> &'static str {
        let [usual, blind, text, both] = self.quirks.formats;
        match (self.blind, self.text_tools) {
            (false, false) => usual,
            (true, false) => blind,
            (false, true) => text,
            (true, true) => both,
        }
    }

    /// The message as JSON; empty when there is nothing to send. The images of a tool result follow it
    /// after [`BATCH_END`], as a user message, because results may carry text alone.
    pub(super) fn encode(&self, message: &Message) -> Vec<u8> {
        let mut out = Vec::with_capacity(json::room_for(message));
        match &message.body {
            Body::User { content, parts, name } => {
                push_user(&mut out, &phrasing::spoken(name.as_deref(), content), self.parts(parts));
            }
            Body::System { content } if phrasing::is_blank(content) => {}
            Body::System { content } => push_user(&mut out, &phrasing::reminder(content), Vec::new()),
            Body::Assistant { content, tool_calls, parts, reasoning } => {
                let text = with_text_parts(&phrasing::answered(content.as_deref(), message.state), parts);
                let silent = phrasing::is_blank(&text) && message.state == MessageState::Complete;
                if !silent || !tool_calls.is_empty() {
                    let text = if silent { String::new() } else { text };
                    self.push_assistant(&mut out, text, tool_calls, parts, reasoning);
                }
            }
            Body::Tool { content, tool_call_id, parts, name, .. } => {
                self.push_result(&mut out, content, tool_call_id, name.as_deref(), parts);
            }
        }
        out
    }

    fn push_assistant(
        &self,
        out: &mut Vec<u8>,
        mut text: String,
        calls: &[ToolCall],
        parts: &[Part],
        reasoning: &[Reasoning],
    ) {
        if self.text_tools {
            for call in calls {
                push_call_as_text(&mut text, call);
            }
        }
        let calls = if self.text_tools { &[] } else { calls };
        let thinking = self.own_thinking(reasoning);
        out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
        match self.quirks.echo {
            Echo::Tags if !thinking.is_empty() => {
                json::push(out, &format!("<think>{thinking}</think>\n\n{text}"));
            }
            Echo::Parts if !thinking.is_empty() => push_thinking_part(out, &thinking, &text),
            _ if text.is_empty() && self.quirks.no_content == NoContent::Null => {
                out.extend_from_slice(b"null");
            }
            _ => json::push(out, &text),
        }
        match self.quirks.echo {
            Echo::Always(field) => json::push_field(out, field, &thinking),
            Echo::WithCalls(field) if !calls.is_empty() || !thinking.is_empty() => {
                json::push_field(out, field, &thinking);
            }
            Echo::Field(field) if !thinking.is_empty() => json::push_field(out, field, &thinking),
            Echo::Details => match reasoning::details_of(parts, self.provider, calls) {
                Some(details) => json::push_field(out, "reasoning_details", &details),
                None if !thinking.is_empty() => json::push_field(out, "reasoning", &thinking),
                None => {}
            },
            _ => {}
        }
        if !calls.is_empty() {
            out.extend_from_slice(b",\"tool_calls\":");
            json::push_list(out, calls, |out, call| self.push_call(out, call));
        }
        out.push(b'}');
    }

    /// The thinking that this provider wrote.
    fn own_thinking(&self, reasoning: &[Reasoning]) -> String {
        let own = reasoning.iter().filter(|block| block.provider == self.provider && !block.text.is_empty());
        own.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn push_call(&self, out: &mut Vec<u8>, call: &ToolCall) {
        let function =
            Function { name: carried::name(&call.name), arguments: carried::arguments(&call.arguments) };
        json::push(out, &Call { id: self.call_id(&call.id), r#type: "function", function });
    }

    fn call_id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        match self.quirks.call_ids {
            CallIds::Short => Cow::Borrowed(carried::short_id(id)),
            CallIds::Nine => call_id::nine(id),
        }
    }

    fn push_result(&self, out: &mut Vec<u8>, content: &str, call: &str, name: Option<&str>, parts: &[Part]) {
        let (texts, media): (Vec<_>, Vec<_>) =
            self.parts(parts).into_iter().partition(|part| matches!(part, ContentPart::Text { .. }));
        let mut text = content.to_owned();
        for part in texts {
            if let ContentPart::Text { text: more } = part {
                push_line(&mut text, &more);
            }
        }
        let id = self.call_id(call);
        if self.text_tools {
            let name = name.unwrap_or_default();
            push_user(out, &format!("<tool_response name=\"{name}\">\n{text}\n</tool_response>"), Vec::new());
        } else {
            let name = name.filter(|_| self.quirks.tool_names).map(carried::name);
            json::push(out, &ToolMessage { role: "tool", tool_call_id: &id, name, content: &text });
        }
        if !media.is_empty() {
            out.push(BATCH_END);
            push_user(out, &format!("Images of the tool result {id}:"), media);
        }
    }

    /// The parts that can be sent, and sentences in the place of others.
    fn parts(&self, parts: &[Part]) -> Vec<ContentPart> {
        parts.iter().filter_map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> Option<ContentPart> {
        let text = |text: String| Some(ContentPart::Text { text });
        let image = |url| Some(ContentPart::ImageUrl { image_url: ImageUrl { url } });
        match part {
            Part::Text { text: said } => text(said.clone()),
            Part::ImageInline { .. } | Part::ImageUri { .. } if self.blind => text(UNSEEN_IMAGE.to_owned()),
            Part::ImageInline { mime_type, data } => image(format!("data:{mime_type};base64,{data}")),
            Part::ImageUri { uri, .. }
                if ["https://", "http://", "data:"].iter().any(|s| uri.starts_with(s)) =>
            {
                image(uri.clone())
            }
            Part::ImageUri { uri, .. } => text(phrasing::unreachable_image(uri)),
            Part::DocumentInline { mime_type, data, name } if self.quirks.documents => {
                let filename = name.clone().unwrap_or_else(|| "document.pdf".to_owned());
                let file_data = format!("data:{mime_type};base64,{data}");
                Some(ContentPart::File { file: File { filename, file_data } })
            }
            Part::DocumentInline { name, .. } => text(match name {
                Some(name) => {
                    format!("[The document {name} is attached here, which cannot be sent to this model.]")
                }
                None => "[A document is attached here, which cannot be sent to this model.]".to_owned(),
            }),
            Part::Native { .. } => None,
            _ => text(phrasing::UNKNOWN_PART.to_owned()),
        }
    }
}

/// Stands in for an image that the model cannot see.
const UNSEEN_IMAGE: &str = "[An image is attached here, which this model cannot see.]";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
    File { file: File },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct File {
    filename: String,
    file_data: String,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    content: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

/// A user message of plain text.
pub(super) fn user(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_user(&mut out, text, Vec::new());
    out
}

fn push_user(out: &mut Vec<u8>, text: &str, parts: Vec<ContentPart>) {
    let plain = parts.iter().all(|part| matches!(part, ContentPart::Text { .. }));
    let said = (!phrasing::is_blank(text)).then(|| ContentPart::Text { text: text.to_owned() });
    if plain {
        // Many templates want content to be a string.
        let mut all = String::new();
        for part in said.into_iter().chain(parts) {
            if let ContentPart::Text { text } = part {
                push_line(&mut all, &text);
            }
        }
        if !all.is_empty() {
            json::push(out, &json!({"role": "user", "content": all}));
        }
        return;
    }
    let content: Vec<ContentPart> = said.into_iter().chain(parts).collect();
    out.extend_from_slice(b"{\"role\":\"user\"");
    json::push_field(out, "content", &content);
    out.push(b'}');
}

fn push_thinking_part(out: &mut Vec<u8>, thinking: &str, text: &str) {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": thinking}]});
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let parts: Vec<Value> = [thinking].into_iter().chain(text).collect();
    json::push(out, &parts);
}

fn push_call_as_text(text: &mut String, call: &ToolCall) {
    let mut written = Map::new();
    written.insert("name".to_owned(), call.name.as_str().into());
    let arguments: Cow<'_, str> = carried::arguments(&call.arguments);
    written.insert("arguments".to_owned(), serde_json::from_str(&arguments).unwrap_or_default());
    push_line(text, &format!("<tool_call>\n{}\n</tool_call>", Value::Object(written)));
}

/// The text with the parts that are text, too, each on a line of its own.
fn with_text_parts(text: &str, parts: &[Part]) -> String {
    let mut joined = text.to_owned();
    for part in parts {
        if let Part::Text { text } = part {
            push_line(&mut joined, text);
        }
    }
    joined
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
