//! How much of a context window a message takes, in bytes that stand for tokens.

use serde::Serialize;

use crate::{Body, Message, Part};

/// What an image counts, whatever its file: about 1,600 tokens, the most that a provider takes for one after
/// it has made it smaller, at the 3.6 bytes a token of the estimate.
const IMAGE: u64 = 5_760;

impl Message {
    /// The bytes that stand for this message where tokens are estimated: its size as JSON, with each
    /// image counted as a flat 5,760 bytes (1,600 tokens) in place of its data or address.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        self.estimated_from(json_size(self))
    }

    /// The same, of a message that has `json` bytes as JSON.
    pub(crate) fn estimated_from(&self, json: u64) -> u64 {
        let native: u64 = self.parts().iter().filter_map(native_items).map(|items| json_size(&items)).sum();
        let neutral = json.saturating_sub(native);
        let neutral = self.parts().iter().filter_map(flat_data).fold(neutral, |bytes, (data, flat)| {
            // Base64 and addresses are as long in JSON as they are.
            bytes.saturating_sub(data.len() as u64).saturating_add(flat)
        });
        // Either is sent in place of the other.
        neutral.max(native)
    }

    /// The bytes that stand for what this message says, its parts included, without what is around it.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.parts().iter().map(Part::estimated_bytes).fold(self.text().len() as u64, u64::saturating_add)
    }

    fn parts(&self) -> &[Part] {
        match &self.body {
            Body::User { parts, .. } | Body::Assistant { parts, .. } | Body::Tool { parts, .. } => parts,
            Body::System { .. } => &[],
        }
    }
}

impl Part {
    /// The bytes that stand for this part where tokens are estimated: the length of a text, a flat 5,760 bytes
    /// (1,600 tokens) for an image.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        match self {
            Self::Text { text } => text.len() as u64,
            Self::ImageInline { .. } | Self::ImageUri { .. } => IMAGE,
            Self::DocumentInline { data, .. } => document(data),
            Self::Native { items, .. } => json_size(items),
        }
    }
}

/// Data that counts otherwise than by its length, and what it counts.
fn flat_data(part: &Part) -> Option<(&str, u64)> {
    match part {
        Part::Text { .. } | Part::Native { .. } => None,
        Part::ImageInline { data, .. } => Some((data, IMAGE)),
        Part::ImageUri { uri, .. } => Some((uri, IMAGE)),
        Part::DocumentInline { data, .. } => Some((data, document(data))),
    }
}

/// What a document counts: a page of text and picture is some 30 kB of a file and 3,000 tokens, more or less.
fn document(data: &str) -> u64 {
    IMAGE.max(data.len() as u64 / 4)
}

fn native_items(part: &Part) -> Option<&Vec<serde_json::Value>> {
    match part {
        Part::Native { items, .. } => Some(items),
        _ => None,
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
    }

    #[test]
    fn text_counts_as_its_json_and_an_image_the_same_whatever_its_size() {
        let plain = message(vec![Part::Text { text: "ほ".into() }]);
        assert_eq!(plain.estimated_bytes(), serde_json::to_vec(&plain).unwrap().len() as u64);
        let small = message(vec![image(4), image(4)]);
        let large = message(vec![image(800_000), image(0)]);
        assert_eq!(small.estimated_bytes(), large.estimated_bytes());
        let rest = serde_json::to_vec(&message(vec![image(0), image(0)])).unwrap().len() as u64;
        assert_eq!(large.estimated_bytes(), rest + 2 * IMAGE);
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
