//! Messages of a conversation, in the JSON of the original (facts sheet 2.5).

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Citation, Timestamp, Usage, read_arguments};

/// Whether a message was finished or cut off by an abort or a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the record format knows exactly these two")]
pub enum MessageState {
    /// The message is whole.
    #[default]
    Complete,
    /// The message ends where the turn was aborted or the stream was cut.
    Interrupted,
}

/// One message of a conversation. Immutable once it is part of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "MessageRecord")]
pub struct Message {
    /// Unique within the session.
    pub id: String,
    /// When the message was made.
    pub timestamp: Timestamp,
    /// Whole or cut off.
    pub state: MessageState,
    /// Facts about the message that no provider sees: round, usage, error marks.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Role and content.
    #[serde(flatten)]
    pub body: Body,
}

/// What a message says, by role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "providers must handle every role")]
pub enum Body {
    /// Written by the user, or by the host in the user's place.
    User {
        /// The text.
        content: String,
        /// Further parts, such as images; the text is not repeated here.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
        /// Name of the speaker, where several users share a session.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Written by the model.
    Assistant {
        /// The visible text; `None` when the model only called tools.
        content: Option<String>,
        /// Further parts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
        /// Calls the model asks for, in its order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// Thinking blocks, to be echoed unchanged to the provider that wrote them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Reasoning>,
    },
    /// Instructions of the host.
    System {
        /// The text.
        content: String,
    },
    /// The result of one tool call.
    Tool {
        /// What the model sees of the result.
        content: String,
        /// The call this answers.
        tool_call_id: String,
        /// Name of the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// True when the call failed, was denied or was skipped.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// Further parts, such as images.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    },
}

/// A piece of content that is not plain message text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image in the message itself.
    ImageInline {
        /// Its media type, such as `image/png`.
        mime_type: String,
        /// Base64 without line breaks.
        data: String,
    },
    /// An image by address.
    ImageUri {
        /// Where it is.
        uri: String,
        /// Its media type, when known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        mime_type: Option<String>,
    },
    /// A document in the message itself, such as a PDF file.
    DocumentInline {
        /// Its media type, such as `application/pdf`.
        mime_type: String,
        /// Base64 without line breaks.
        data: String,
        /// What it is called.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        name: Option<String>,
    },
    /// All of an answer as its API wrote it: blocks, items or parts, in their order. Whoever speaks that API is sent
    /// these, with the calls under the ids they have in the message; for all others the rest of the message says
    /// the same as far as it can be said. Answers have it only where it says more than the rest.
    Native {
        /// The API, such as `anthropic-messages`.
        format: String,
        /// What the answer is made of.
        items: Vec<Value>,
    },
}

/// A call the model asks for.
///
/// JSON: `{"id","type":"function","function":{"name","arguments":"<json text>"}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Pairs the call with its result; unique within a history.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, possibly malformed.
    pub arguments: String,
}

/// A thinking block that must go back to its provider unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// Id of the provider that wrote it; no other provider is sent this block.
    pub provider: String,
    /// The readable thinking, possibly empty.
    pub text: String,
    /// The provider's proof of the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signature: Option<String>,
    /// Encrypted thinking that only the provider can read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub redacted: Option<String>,
}

impl Message {
    /// A user message of plain text.
    #[must_use]
    pub fn user(id: impl Into<String>, timestamp: Timestamp, content: impl Into<String>) -> Self {
        let body = Body::User { content: content.into(), parts: Vec::new(), name: None };
        Self::with_body(id, timestamp, body)
    }

    /// A system message.
    #[must_use]
    pub fn system(id: impl Into<String>, timestamp: Timestamp, content: impl Into<String>) -> Self {
        Self::with_body(id, timestamp, Body::System { content: content.into() })
    }

    /// An assistant message of plain text.
    #[must_use]
    pub fn assistant(id: impl Into<String>, timestamp: Timestamp, content: impl Into<String>) -> Self {
        let body = Body::Assistant {
            content: Some(content.into()),
            parts: Vec::new(),
            tool_calls: Vec::new(),
            reasoning: Vec::new(),
        };
        Self::with_body(id, timestamp, body)
    }

    /// A whole message without metadata.
    #[must_use]
    pub fn with_body(id: impl Into<String>, timestamp: Timestamp, body: Body) -> Self {
        Self { id: id.into(), timestamp, state: MessageState::Complete, metadata: Map::new(), body }
    }

    /// The text of the message; empty when it has none.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.body {
            Body::User { content, .. } | Body::System { content } | Body::Tool { content, .. } => content,
            Body::Assistant { content, .. } => content.as_deref().unwrap_or_default(),
        }
    }

    /// The calls of an assistant message; empty for every other role.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        match &self.body {
            Body::Assistant { tool_calls, .. } => tool_calls,
            _ => &[],
        }
    }

    /// The call a tool message answers.
    #[must_use]
    pub fn answers(&self) -> Option<&str> {
        match &self.body {
            Body::Tool { tool_call_id, .. } => Some(tool_call_id),
            _ => None,
        }
    }

    /// The provider's token counts for the call that made this message (`metadata.usage`).
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.metadata.get("usage").and_then(|usage| Usage::deserialize(usage).ok())
    }

    /// The sources that an answer names (`metadata.citations`), in its order.
    #[must_use]
    pub fn citations(&self) -> Vec<Citation> {
        let citations = self.metadata.get("citations");
        citations.and_then(|citations| Vec::deserialize(citations).ok()).unwrap_or_default()
    }

    /// `user`, `assistant`, `system` or `tool`.
    #[must_use]
    pub const fn role(&self) -> &'static str {
        match self.body {
            Body::User { .. } => "user",
            Body::Assistant { .. } => "assistant",
            Body::System { .. } => "system",
            Body::Tool { .. } => "tool",
        }
    }
}

/// A message shared between history, requests and events, with room for its encoded form.
///
/// A provider encodes each message once; later requests copy the bytes ([`MessageRef::encoded`]).
#[derive(Clone)]
pub struct MessageRef(Arc<Shared>);

struct Shared {
    message: Message,
    encoded: OnceLock<(&'static str, Box<[u8]>)>,
    digest: OnceLock<u128>,
    estimated: OnceLock<u64>,
}

impl MessageRef {
    /// Shares `message`.
    #[must_use]
    pub fn new(message: Message) -> Self {
        let (encoded, digest, estimated) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Shared { message, encoded, digest, estimated }))
    }

    /// The digest of the message, which is taken once.
    pub(crate) fn digest(&self, take: impl FnOnce(&Message) -> u128) -> u128 {
        *self.0.digest.get_or_init(|| take(&self.0.message))
    }

    /// [`Message::estimated_bytes`], which is taken once.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        *self.0.estimated.get_or_init(|| self.0.message.estimated_bytes())
    }

    /// Hands `consume` the message as `encode` writes it for the wire format `format`.
    ///
    /// The first format asked for is kept with the message; another one is encoded afresh each time.
    pub fn encoded<R>(
        &self,
        format: &'static str,
        encode: impl Fn(&Message) -> Vec<u8>,
        consume: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let (kept, bytes) =
            self.0.encoded.get_or_init(|| (format, encode(&self.0.message).into_boxed_slice()));
        if *kept == format { consume(bytes) } else { consume(&encode(&self.0.message)) }
    }
}

impl Deref for MessageRef {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0.message
    }
}

impl From<Message> for MessageRef {
    fn from(message: Message) -> Self {
        Self::new(message)
    }
}

impl PartialEq for MessageRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.message == other.0.message
    }
}

impl fmt::Debug for MessageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.message.fmt(f)
    }
}

impl Serialize for MessageRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.message.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Message::deserialize(deserializer).map(Self::new)
    }
}

/// The flat JSON of a message: read in one pass, then checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageRecord {
    id: String,
    timestamp: Timestamp,
    #[serde(default)]
    state: MessageState,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    #[serde(default)]
    reasoning: Vec<Reasoning>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    is_error: bool,
}

/// A message record that breaks the format.
#[derive(Debug, thiserror::Error)]
enum InvalidMessage {
    #[error("message {id}: a {role} message needs the field `{field}`")]
    MissingField { id: String, role: String, field: &'static str },
    #[error("message {id}: `{role}` is not a role; expected user, assistant, system or tool")]
    UnknownRole { id: String, role: String },
}

impl TryFrom<MessageRecord> for Message {
    type Error = InvalidMessage;

    fn try_from(record: MessageRecord) -> Result<Self, InvalidMessage> {
        let MessageRecord { id, timestamp, state, metadata, role, content, parts, .. } = record;
        let missing = |field| InvalidMessage::MissingField { id: id.clone(), role: role.clone(), field };
        let body = match role.as_str() {
            "user" => {
                Body::User { content: content.ok_or_else(|| missing("content"))?, parts, name: record.name }
            }
            "assistant" => {
                Body::Assistant { content, parts, tool_calls: record.tool_calls, reasoning: record.reasoning }
            }
            "system" => Body::System { content: content.ok_or_else(|| missing("content"))? },
            "tool" => Body::Tool {
                content: content.ok_or_else(|| missing("content"))?,
                tool_call_id: record.tool_call_id.ok_or_else(|| missing("toolCallId"))?,
                name: record.name,
                is_error: record.is_error,
                parts,
            },
            _ => return Err(InvalidMessage::UnknownRole { id, role }),
        };
        Ok(Self { id, timestamp, state, metadata: metadata.unwrap_or_default(), body })
    }
}

#[derive(Serialize)]
struct ToolCallView<'a> {
    id: &'a str,
    r#type: &'static str,
    function: FunctionView<'a>,
}

#[derive(Serialize)]
struct FunctionView<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl ToolCall {
    /// The arguments as programs read them, slips mended: none are an empty object, and what is no JSON is a string.
    #[must_use]
    pub fn parameters(&self) -> Value {
        let text = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let read = read_arguments(text).unwrap_or(Cow::Borrowed(text));
        serde_json::from_str(&read).unwrap_or_else(|_| Value::from(self.arguments.as_str()))
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let function = FunctionView { name: &self.name, arguments: &self.arguments };
        ToolCallView { id: &self.id, r#type: "function", function }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Record {
            id: String,
            function: Function,
        }
        #[derive(Deserialize)]
        struct Function {
            name: String,
            #[serde(default)]
            arguments: String,
        }
        let Record { id, function } = Record::deserialize(deserializer)?;
        Ok(Self { id, name: function.name, arguments: function.arguments })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_assistant_record_of_the_original_reads_and_writes_back() {
        let record = json!({
            "id": "m1", "timestamp": "2026-11-21T22:48:00.000Z", "state": "interrupted",
            "metadata": {"round": 2}, "role": "assistant", "content": null,
            "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{\"filePath\":\"a\"}"}}],
        });
        let message: Message = serde_json::from_value(record.clone()).unwrap();
        assert_eq!(message.tool_calls()[0].name, "Read");
        assert_eq!(serde_json::to_value(&message).unwrap(), record);
    }

    #[test]
    fn a_broken_record_names_message_and_field() {
        let record = json!({"id": "m7", "timestamp": 0, "role": "tool", "content": "x"});
        let error = serde_json::from_value::<Message>(record).unwrap_err().to_string();
        assert_eq!(error, "message m7: a tool message needs the field `toolCallId`");
        let record = json!({"id": "m8", "timestamp": 0, "role": "wizard"});
        let error = serde_json::from_value::<Message>(record).unwrap_err().to_string();
        assert!(error.contains("`wizard` is not a role"), "{error}");
    }

    #[test]
    fn a_message_is_encoded_once_per_kept_format() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let message = MessageRef::new(Message::user("m", Timestamp::default(), "hi"));
        let calls = AtomicUsize::new(0);
        let encode = |message: &Message| {
            calls.fetch_add(1, Ordering::Relaxed);
            message.text().as_bytes().to_vec()
        };
        for _ in 0..3 {
            message.encoded("first", encode, |bytes| assert_eq!(bytes, b"hi"));
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        message.encoded("second", encode, |bytes| assert_eq!(bytes, b"hi"));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
