//! How much of a context window a message takes, in bytes that stand for tokens: 3.6 of them for one.

use serde::Serialize;

use crate::text_weight::TextWeight;
use crate::{Body, Message, Part, Reasoning, ToolCall, text_bytes};

/// What an image counts, whatever its file: about 1,600 tokens, the most that a provider takes for one after
/// it has made it smaller, at the 3.6 bytes a token of the estimate.
const IMAGE: u64 = 5_760;

/// What stands around a message when it is sent: its role, and marks of beginning and end; 4 tokens.
const FRAME: u64 = 15;

/// What stands around a call and around its result, their id among it; 8 tokens.
const CALL_FRAME: u64 = 29;

impl Message {
    /// The bytes that stand for this message where tokens are estimated, 3.6 a token: what a provider is sent of
    /// it, weighed by [`text_bytes`], with each image counted as a flat 5,760 bytes (1,600 tokens) in place of
    /// its data or address. Id, time and metadata are not sent, and weigh nothing.
    ///
    /// Takes one pass over the message; a [`MessageRef`](crate::MessageRef) keeps what it came to.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        let is_native = |part: &&Part| matches!(part, Part::Native { .. });
        let sum = |bytes: u64, part: &Part| bytes.saturating_add(part.estimated_bytes());
        let native = self.parts().iter().filter(is_native).fold(0, sum);
        let parts = self.parts().iter().filter(|part| !is_native(part)).fold(0, sum);
        let neutral = parts.saturating_add(text_bytes(self.text())).saturating_add(self.around());
        // Either is sent in place of the other.
        FRAME.saturating_add(neutral.max(native))
    }

    /// The bytes that stand for what this message says, its parts included, without what is around it.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.parts().iter().map(Part::estimated_bytes).fold(text_bytes(self.text()), u64::saturating_add)
    }

    pub(crate) fn parts(&self) -> &[Part] {
        match &self.body {
            Body::User { parts, .. } | Body::Assistant { parts, .. } | Body::Tool { parts, .. } => parts,
            Body::System { .. } => &[],
        }
    }

    /// What is sent beside text and parts.
    fn around(&self) -> u64 {
        match &self.body {
            Body::Assistant { tool_calls, reasoning, .. } => {
                let calls = tool_calls.iter().map(call_bytes);
                calls.chain(reasoning.iter().map(thinking_bytes)).fold(0, u64::saturating_add)
            }
            Body::Tool { .. } => CALL_FRAME,
            Body::User { name: Some(name), .. } => text_bytes(name),
            Body::User { .. } | Body::System { .. } => 0,
        }
    }
}

impl Part {
    /// The bytes that stand for this part where tokens are estimated: the weight of a text, a flat 5,760 bytes
    /// (1,600 tokens) for an image.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        match self {
            Self::Text { text } => text_bytes(text),
            Self::ImageInline { .. } | Self::ImageUri { .. } => IMAGE,
            Self::DocumentInline { data, .. } => document(data),
            Self::Native { items, .. } => json_bytes(items),
        }
    }
}

fn call_bytes(call: &ToolCall) -> u64 {
    CALL_FRAME + text_bytes(&call.name) + text_bytes(&call.arguments)
}

/// Encrypted thinking is base64 of about as many bytes as the thinking has.
fn thinking_bytes(reasoning: &Reasoning) -> u64 {
    let redacted = reasoning.redacted.as_ref().map_or(0, |data| data.len() as u64 / 4 * 3);
    text_bytes(&reasoning.text).saturating_add(redacted)
}

/// What a document counts: a page of text and picture is some 30 kB of a file and 3,000 tokens, more or less.
fn document(data: &str) -> u64 {
    IMAGE.max(data.len() as u64 / 4)
}

/// The bytes that stand for `value` as JSON where tokens are estimated, without the JSON being made.
pub(crate) fn json_bytes(value: &impl Serialize) -> u64 {
    let mut weigh = Weigh(TextWeight::default());
    // Weighing cannot fail, and what is sent has string keys alone.
    let _ = serde_json::to_writer(&mut weigh, value);
    weigh.0.bytes()
}

struct Weigh(TextWeight);

impl std::io::Write for Weigh {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The size of `value` as JSON, in bytes, without the JSON being made. What cannot be JSON, such as a map whose
/// keys are no strings, counts up to there.
pub fn json_size(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    // Counting cannot fail, and messages have string keys alone.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{History, Timestamp};

    fn message(parts: Vec<Part>) -> Message {
        let body = Body::User { content: "a \"quote\"\n".into(), parts, name: None };
        Message::with_body("u", Timestamp::default(), body)
    }

    fn image(bytes: usize) -> Part {
        Part::ImageInline { mime_type: "image/png".into(), data: "A".repeat(bytes) }
    }

    #[test]
    fn a_text_is_as_long_as_its_json() {
        let text = "a \"quote\"\n";
        assert_eq!(json_size(&text), serde_json::to_vec(text).unwrap().len() as u64);
        assert_eq!(json_bytes(&text), text_bytes(&serde_json::to_string(text).unwrap()));
    }

    #[test]
    fn what_is_not_sent_weighs_nothing_and_an_image_the_same_whatever_its_size() {
        let mut plain = message(vec![Part::Text { text: "ほ".into() }]);
        let bytes = plain.estimated_bytes();
        plain.id = "a much longer id".into();
        plain.metadata.insert("round".into(), 7.into());
        assert_eq!(plain.estimated_bytes(), bytes);
        let small = message(vec![image(4), image(4)]);
        let large = message(vec![image(800_000), image(0)]);
        assert_eq!(small.estimated_bytes(), large.estimated_bytes());
        assert_eq!(large.estimated_bytes(), message(Vec::new()).estimated_bytes() + 2 * IMAGE);
        assert_eq!(image(800_000).estimated_bytes(), 5_760);
    }

    #[test]
    fn a_history_counts_its_messages_like_that_however_they_came_into_it() {
        let mut history = History::default();
        history.append(message(vec![image(800_000)]));
        assert!(history.message_bytes() < 6_500, "{}", history.message_bytes());
        history.replace(history.messages().to_vec());
        assert_eq!(history.message_bytes(), history.messages()[0].estimated_bytes());
    }
}
