//! One message as items of the input.

use std::borrow::Cow;

use robota_core::{Body, Message, MessageState, Part, ToolCall};
use serde::Serialize;

use super::dialect::Spoken;
use super::native;
use crate::{carried, json, phrasing};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'static str, content: Content<'a> },
    FunctionCall { call_id: &'a str, name: Cow<'a, str>, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: Content<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum ContentPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image { detail: &'static str, image_url: Cow<'a, str> },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: String },
}

/// The message as JSON objects with commas between them; empty when there is nothing to send. Answers that came in
/// the words of `format` are sent in them.
pub(super) fn encode(message: &Message, format: &str, spoken: Spoken) -> Vec<u8> {
    let mut items = Items(Vec::with_capacity(json::room_for(message)));
    match &message.body {
        Body::User { content, parts, name } => {
            items.user(&phrasing::spoken(name.as_deref(), content), parts);
        }
        Body::System { content } if phrasing::is_blank(content) => {}
        Body::System { content } => items.user(&phrasing::reminder(content), &[]),
        Body::Assistant { content, tool_calls, parts, .. } => {
            if let Some(native) = native_items(message, format)
                && let Some(bytes) = native::encode(native, tool_calls, spoken)
            {
                return bytes;
            }
            let text = phrasing::answered(content.as_deref(), message.state);
            items.answer(&with_text_parts(&text, parts), tool_calls, message.state);
        }
        Body::Tool { content, tool_call_id, parts, .. } => {
            let output =
                if parts.is_empty() { Content::Text(content) } else { content_parts(content, parts) };
            items.push(&Item::FunctionCallOutput { call_id: carried::short_id(tool_call_id), output });
        }
    }
    items.0
}

/// What an answer is made of in the words of `format`; an answer that was cut off has none.
pub(super) fn native_items<'a>(message: &'a Message, format: &str) -> Option<&'a [serde_json::Value]> {
    let Body::Assistant { parts, .. } = &message.body else { return None };
    let native = parts.iter().find_map(|part| match part {
        Part::Native { format: spoken, items } if spoken == format => Some(items.as_slice()),
        _ => None,
    });
    native.filter(|_| message.state == MessageState::Complete)
}

/// What stands before an answer that would otherwise be the first message.
pub(super) fn beginning_missing() -> Vec<u8> {
    let mut items = Items(Vec::new());
    items.user(phrasing::BEGINNING_MISSING, &[]);
    items.0
}

/// Instructions for servers that have no field for them.
pub(super) fn system(text: &str) -> Vec<u8> {
    let mut items = Items(Vec::with_capacity(text.len() + 64));
    items.push(&Item::Message { role: "system", content: Content::Text(text) });
    items.0
}

struct Items(Vec<u8>);

impl Items {
    fn push(&mut self, item: &Item<'_>) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        json::push(&mut self.0, item);
    }

    fn user(&mut self, text: &str, parts: &[Part]) {
        let content = match parts {
            [] if phrasing::is_blank(text) => return,
            [] => Content::Text(text),
            _ => content_parts(text, parts),
        };
        self.push(&Item::Message { role: "user", content });
    }

    /// Text goes as a plain string: a list of `output_text` is what only the API itself writes, with ids.
    fn answer(&mut self, text: &str, calls: &[ToolCall], state: MessageState) {
        if !phrasing::is_blank(text) || state == MessageState::Interrupted {
            self.push(&Item::Message { role: "assistant", content: Content::Text(text) });
        }
        for call in calls {
            self.push(&Item::FunctionCall {
                call_id: carried::short_id(&call.id),
                name: carried::name(&call.name),
                arguments: &carried::arguments(&call.arguments),
            });
        }
    }
}

fn content_parts<'a>(text: &'a str, parts: &'a [Part]) -> Content<'a> {
    let text = (!phrasing::is_blank(text)).then(|| ContentPart::Text { text: text.into() });
    Content::Parts(text.into_iter().chain(parts.iter().filter_map(content_part)).collect())
}

fn content_part(part: &Part) -> Option<ContentPart<'_>> {
    const DETAIL: &str = "auto";
    Some(match part {
        Part::Text { text } => ContentPart::Text { text: text.into() },
        Part::ImageInline { mime_type, data } => {
            ContentPart::Image { detail: DETAIL, image_url: format!("data:{mime_type};base64,{data}").into() }
        }
        Part::ImageUri { uri, .. } if ["https://", "http://", "data:"].iter().any(|s| uri.starts_with(s)) => {
            ContentPart::Image { detail: DETAIL, image_url: uri.into() }
        }
        Part::ImageUri { uri, .. } => ContentPart::Text { text: phrasing::unreachable_image(uri).into() },
        Part::DocumentInline { mime_type, data, name } => ContentPart::File {
            filename: name.as_deref().unwrap_or_else(|| usual_name(mime_type)),
            file_data: format!("data:{mime_type};base64,{data}"),
        },
        Part::Native { .. } => return None,
        _ => ContentPart::Text { text: phrasing::UNKNOWN_PART.into() },
    })
}

/// The API tells the kind of a file by its name.
fn usual_name(mime_type: &str) -> &'static str {
    match mime_type {
        "application/pdf" => "document.pdf",
        "text/markdown" => "document.md",
        "text/csv" => "document.csv",
        "text/html" => "document.html",
        "application/json" => "document.json",
        _ => "document.txt",
    }
}

/// The text with the parts that are text, too, each on a line of its own.
fn with_text_parts(text: &str, parts: &[Part]) -> String {
    let mut joined = text.to_owned();
    for part in parts {
        if let Part::Text { text } = part {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }
    }
    joined
}
