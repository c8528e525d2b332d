//! One message as Anthropic content blocks.

use robota_core::{Body, Message, MessageState, Part, Reasoning, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

use super::encoded::Blocks;
use super::{documents, native};
use crate::{carried, json, phrasing};

/// Id of the provider, and mark of the thinking blocks it may be sent.
pub(super) const PROVIDER_ID: &str = "anthropic";

/// The kinds of images that the API reads.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Stands in for parts of a failed call: the API lets failures say nothing but text.
const NO_TEXT: &str = "[Content that is no text cannot be shown with a failed call.]";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    Document(documents::Document<'a>),
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: &'a RawValue },
    ToolResult(ToolResult<'a>),
}

#[derive(Serialize)]
struct ToolResult<'a> {
    tool_use_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ResultContent<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Blocks(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

/// Whether the message has anything to send; a message without blocks is left out.
pub(super) fn has_blocks(message: &Message) -> bool {
    has_plain_blocks(message)
        || matches!(&message.body, Body::Assistant { parts, tool_calls, .. }
            if native::items(message.state, parts, tool_calls).is_some())
}

/// Whether the message has anything to send besides the API's own words.
pub(super) fn has_plain_blocks(message: &Message) -> bool {
    match &message.body {
        Body::Tool { .. } => true,
        Body::System { content } => !phrasing::is_blank(content),
        Body::User { content, parts, .. } => !phrasing::is_blank(content) || parts.iter().any(says_something),
        Body::Assistant { content, parts, tool_calls, .. } => {
            message.state == MessageState::Interrupted
                || !phrasing::is_blank(content.as_deref().unwrap_or_default())
                || !tool_calls.is_empty()
                || parts.iter().any(says_something)
        }
    }
}

/// Whether the part is sent as a block of its own.
fn says_something(part: &Part) -> bool {
    match part {
        Part::Text { text } => !phrasing::is_blank(text),
        Part::Native { .. } => false,
        _ => true,
    }
}

/// The content blocks of the message, in the form of [`Blocks::into_bytes`].
pub(super) fn encode(message: &Message) -> Vec<u8> {
    if let Body::Assistant { parts, tool_calls, .. } = &message.body
        && let Some(items) = native::items(message.state, parts, tool_calls)
    {
        let mut blocks = Blocks::with_capacity(json::room_for(message));
        native::push(&items, tool_calls, &mut blocks);
        return blocks.into_bytes();
    }
    encode_plain(message)
}

/// The same, but never in the API's own words.
pub(super) fn encode_plain(message: &Message) -> Vec<u8> {
    let mut blocks = Blocks::with_capacity(json::room_for(message));
    match &message.body {
        Body::User { content, parts, name } => {
            blocks.parts(parts);
            blocks.text(&phrasing::spoken(name.as_deref(), content));
        }
        Body::System { content } => blocks.text(&phrasing::reminder(content)),
        Body::Assistant { content, parts, tool_calls, reasoning } => {
            blocks.reasoning(reasoning);
            blocks.text(&phrasing::answered(content.as_deref(), message.state));
            blocks.parts(parts);
            blocks.tool_calls(tool_calls);
        }
        Body::Tool { content, tool_call_id, is_error, parts, .. } => {
            blocks.tool_result(content, tool_call_id, *is_error, parts);
        }
    }
    blocks.into_bytes()
}

impl Blocks {
    fn text(&mut self, text: &str) {
        if !phrasing::is_blank(text) {
            self.push(&Block::Text { text }, true);
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text { text } => self.text(text),
                Part::ImageInline { mime_type, data } => self.image(mime_type, data),
                Part::ImageUri { uri, .. } => self.image_uri(uri),
                Part::DocumentInline { mime_type, data, name } => {
                    match documents::document(mime_type, data, name.as_deref()) {
                        Some(document) => self.push(&Block::Document(document), true),
                        None => self.text(phrasing::UNKNOWN_PART),
                    }
                }
                Part::Native { .. } => {}
                _ => self.text(phrasing::UNKNOWN_PART),
            }
        }
    }

    fn image(&mut self, media_type: &str, data: &str) {
        if IMAGES.contains(&media_type) {
            self.push(&Block::Image { source: Source::Base64 { media_type, data } }, true);
        } else {
            self.text(phrasing::UNKNOWN_PART);
        }
    }

    fn image_uri(&mut self, uri: &str) {
        let inline = uri.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        if let Some((media_type, data)) = inline {
            self.image(media_type, data);
        } else if uri.starts_with("https://") || uri.starts_with("http://") {
            self.push(&Block::Image { source: Source::Url { url: uri } }, true);
        } else {
            self.text(&phrasing::unreachable_image(uri));
        }
    }

    /// Thinking goes back as it came. Without its signature it would be refused, so it is left out.
    fn reasoning(&mut self, reasoning: &[Reasoning]) {
        for thought in reasoning.iter().filter(|thought| thought.provider == PROVIDER_ID) {
            if let Some(data) = &thought.redacted {
                self.push(&Block::RedactedThinking { data }, false);
            } else if let Some(signature) = &thought.signature {
                self.push(&Block::Thinking { thinking: &thought.text, signature }, false);
            }
        }
    }

    fn tool_calls(&mut self, calls: &[ToolCall]) {
        for call in calls {
            let block = Block::ToolUse {
                id: &carried::id(&call.id),
                name: &carried::name(&call.name),
                input: &carried::raw_arguments(&call.arguments),
            };
            self.push(&block, true);
        }
    }

    fn tool_result(&mut self, content: &str, call: &str, is_error: bool, parts: &[Part]) {
        let list;
        let content = if parts.is_empty() {
            (!phrasing::is_blank(content)).then_some(ResultContent::Text(content))
        } else {
            let mut inner = Self::default();
            inner.text(content);
            for part in parts {
                match part {
                    Part::Text { .. } => inner.parts(std::slice::from_ref(part)),
                    _ if is_error => inner.text(NO_TEXT),
                    _ => inner.parts(std::slice::from_ref(part)),
                }
            }
            list = format!("[{}]", String::from_utf8_lossy(&inner.into_json()));
            serde_json::from_str(&list).ok().map(ResultContent::Blocks)
        };
        let result = ToolResult { tool_use_id: &carried::id(call), content, is_error };
        self.push(&Block::ToolResult(result), true);
    }
}
