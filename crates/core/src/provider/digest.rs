//! A short stand-in for everything a request holds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::Xxh3;

use super::{ModelRequest, Thinking, ToolChoice};
use crate::{Body, Message, MessageState, Part};

/// Stands for all of a request that any provider could send: model, system prompt, tools, tool choice,
/// output limit, and role, state and content of every message. Ids, times and metadata of messages are not
/// in it.
///
/// Two requests with equal digests come out byte-identical. It is an XXH3 of 128 bits over the fields, each
/// with its length before it: quick, and no proof against someone who wants two requests to look alike.
/// As JSON, 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestDigest(u128);

impl RequestDigest {
    pub(super) fn of(request: &ModelRequest) -> Self {
        let mut hash = Fields::default();
        hash.text(&request.model);
        hash.text(&request.system);
        hash.json(&request.tools);
        match &request.tool_choice {
            ToolChoice::Auto => hash.text("auto"),
            ToolChoice::None => hash.text("none"),
            ToolChoice::Required => hash.text("required"),
            ToolChoice::Tool(name) => {
                hash.text("tool");
                hash.text(name);
            }
        }
        hash.json(&request.max_output_tokens);
        hash.tuning(request);
        for message in &request.messages {
            hash.0.update(&message.digest(of_message).to_le_bytes());
        }
        Self(hash.0.digest128())
    }
}

/// What a provider could send of a message.
fn of_message(message: &Message) -> u128 {
    let mut hash = Fields::default();
    hash.text(message.role());
    hash.text(if message.state == MessageState::Complete { "" } else { "interrupted" });
    hash.text(message.text());
    match &message.body {
        Body::User { parts, name, .. } => {
            hash.parts(parts);
            hash.text(name.as_deref().unwrap_or_default());
        }
        Body::Assistant { content, parts, tool_calls, reasoning } => {
            hash.text(if content.is_some() { "text" } else { "" });
            hash.parts(parts);
            for call in tool_calls {
                hash.text(&call.id);
                hash.text(&call.name);
                hash.text(&call.arguments);
            }
            hash.json(reasoning);
        }
        Body::System { .. } => {}
        Body::Tool { tool_call_id, name, is_error, parts, .. } => {
            hash.text(tool_call_id);
            hash.text(name.as_deref().unwrap_or_default());
            hash.text(if *is_error { "error" } else { "" });
            hash.parts(parts);
        }
    }
    hash.0.digest128()
}

/// A hash over fields: none can be taken for a part of its neighbour.
#[derive(Default)]
struct Fields(Xxh3);

impl Fields {
    fn bytes(&mut self, field: &[u8]) {
        self.0.update(&(field.len() as u64).to_le_bytes());
        self.0.update(field);
    }

    fn text(&mut self, field: &str) {
        self.bytes(field.as_bytes());
    }

    fn parts(&mut self, parts: &[Part]) {
        if parts.is_empty() {
            self.bytes(&[]);
        } else {
            self.json(parts);
        }
    }

    /// What requests of before it existed do not have changes nothing, so that their digests stay what they were.
    fn tuning(&mut self, request: &ModelRequest) {
        if let Some(effort) = request.effort {
            self.text("effort");
            self.text(effort.name());
        }
        if request.thinking != Thinking::Default {
            self.text("thinking");
            self.json(&request.thinking);
        }
        if let Some(format) = &request.response_format {
            self.text("format");
            self.text(&format.name);
            self.json(&format.schema);
        }
        if !request.native_web_tools.is_empty() {
            self.text("web");
            self.json(&request.native_web_tools);
        }
    }

    fn json(&mut self, field: &(impl Serialize + ?Sized)) {
        // None of these can fail to become JSON.
        self.bytes(&serde_json::to_vec(field).unwrap_or_default());
    }
}

impl fmt::Display for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestDigest({self})")
    }
}

impl Serialize for RequestDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| de::Error::custom("a request digest is 32 hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn request(text: &str) -> ModelRequest {
        let message = Message::user("id", Timestamp::default(), text);
        let mut request = ModelRequest::new("m", vec![message.into()]);
        request.system = "s".into();
        request
    }

    #[test]
    fn whatever_could_be_sent_changes_the_digest_and_nothing_else_does() {
        let digest = request("hi").digest();
        let mut same = request("hi");
        same.messages = vec![Message::user("other id", Timestamp::from_millis(9), "hi").into()];
        assert_eq!(same.digest(), digest);

        assert_ne!(request("hi ").digest(), digest);
        let mut moved = request("hi");
        (moved.model, moved.system) = ("ms".into(), "".into());
        assert_ne!(moved.digest(), digest);
        let mut chosen = request("hi");
        chosen.tool_choice = ToolChoice::None;
        assert_ne!(chosen.digest(), digest);
        let mut limited = request("hi");
        limited.max_output_tokens = Some(1);
        assert_ne!(limited.digest(), digest);
    }

    #[test]
    fn a_digest_reads_back_from_its_hex_form() {
        let digest = request("hi").digest();
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json.len(), 34);
        assert_eq!(serde_json::from_str::<RequestDigest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<RequestDigest>("\"+1\"").is_err());
    }
}
