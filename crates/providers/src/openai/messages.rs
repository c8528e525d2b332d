//! One message as Chat Completions messages.

use std::borrow::Cow;

use robota_core::{Body, Message, MessageState, Part, ToolCall};
use serde::Serialize;

use crate::{carried, json, phrasing};

/// Separates what may stand between the results of one batch of calls from what must wait for its
/// end. JSON as it is written here has no line breaks.
pub(super) const BATCH_END: u8 = b'\n';

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatMessage<'a> {
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: std::borrow::Cow<'a, str>,
    arguments: Cow<'a, str>,
}

/// The message as JSON; empty when there is nothing to send. The images of a tool result follow it
/// after [`BATCH_END`], as a user message, because results may carry text alone.
pub(super) fn encode(message: &Message) -> Vec<u8> {
    let mut out = Vec::with_capacity(json::room_for(message));
    match &message.body {
        Body::User { content, parts, name } => {
            push_user(&mut out, &phrasing::spoken(name.as_deref(), content), parts);
        }
        Body::System { content } if phrasing::is_blank(content) => {}
        Body::System { content } => push_user(&mut out, &phrasing::reminder(content), &[]),
        Body::Assistant { content, tool_calls, parts, .. } => {
            let text = with_text_parts(&phrasing::answered(content.as_deref(), message.state), parts);
            let silent = phrasing::is_blank(&text) && message.state == MessageState::Complete;
            if !silent || !tool_calls.is_empty() {
                let tool_calls = tool_calls.iter().map(call).collect();
                let content = (!silent).then_some(text.as_str());
                json::push(&mut out, &ChatMessage::Assistant { content, tool_calls });
            }
        }
        Body::Tool { content, tool_call_id, parts, .. } => {
            let tool_call_id = carried::short_id(tool_call_id);
            json::push(
                &mut out,
                &ChatMessage::Tool { tool_call_id, content: &with_text_parts(content, parts) },
            );
            let images = parts.iter().filter(|part| !matches!(part, Part::Text { .. })).cloned();
            let images: Vec<Part> = images.collect();
            if !images.is_empty() {
                out.push(BATCH_END);
                push_user(&mut out, &format!("Images of the tool result {tool_call_id}:"), &images);
            }
        }
    }
    out
}

/// What stands before an answer that would otherwise be the first message.
pub(super) fn beginning_missing() -> Vec<u8> {
    let mut out = Vec::new();
    push_user(&mut out, phrasing::BEGINNING_MISSING, &[]);
    out
}

fn push_user(out: &mut Vec<u8>, text: &str, parts: &[Part]) {
    if parts.is_empty() {
        if !phrasing::is_blank(text) {
            json::push(out, &ChatMessage::User { content: UserContent::Text(text) });
        }
        return;
    }
    let text = (!phrasing::is_blank(text)).then(|| ContentPart::Text { text: text.to_owned() });
    let parts = text.into_iter().chain(parts.iter().map(content_part)).collect();
    json::push(out, &ChatMessage::User { content: UserContent::Parts(parts) });
}

fn content_part(part: &Part) -> ContentPart {
    let image = |url| ContentPart::ImageUrl { image_url: ImageUrl { url } };
    match part {
        Part::Text { text } => ContentPart::Text { text: text.clone() },
        Part::ImageInline { mime_type, data } => image(format!("data:{mime_type};base64,{data}")),
        Part::ImageUri { uri, .. } if ["https://", "http://", "data:"].iter().any(|s| uri.starts_with(s)) => {
            image(uri.clone())
        }
        Part::ImageUri { uri, .. } => ContentPart::Text { text: phrasing::unreachable_image(uri) },
        _ => ContentPart::Text { text: phrasing::UNKNOWN_PART.to_owned() },
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

fn call(call: &ToolCall) -> Call<'_> {
    let arguments = carried::arguments(&call.arguments);
    Call {
        id: carried::short_id(&call.id),
        r#type: "function",
        function: Function { name: carried::name(&call.name), arguments },
    }
}
