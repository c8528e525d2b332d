//! The frames of a Messages stream, as far as they are looked into.

use std::borrow::Cow;

use robota_core::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::counts::count;

/// The data of one server-sent event.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(borrow, default)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(default)]
    pub(super) index: u64,
    pub(super) message: Option<MessageStart>,
    pub(super) content_block: Option<Map<String, Value>>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<WireUsage>,
}

/// What is added to a block, or to the message at its end.
#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) r#type: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) citation: Option<Value>,
    pub(super) stop_reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
}

impl WireUsage {
    /// Counts are cumulative, but some gateways leave out or zero what they said before.
    pub(super) fn add_to(self, usage: &mut Usage) {
        let keep = |total: &mut u64, count: Option<u64>| *total = (*total).max(count.unwrap_or(0));
        keep(&mut usage.input_tokens, self.input_tokens);
        keep(&mut usage.output_tokens, self.output_tokens);
        keep(&mut usage.cache_read_tokens, self.cache_read_input_tokens);
        keep(&mut usage.cache_write_tokens, self.cache_creation_input_tokens);
    }
}

/// A frame that has not the shape that was expected of it.
pub(super) enum Foreign {
    /// It adds something to a block in a way that this version does not know.
    Delta { index: u64, delta: Map<String, Value> },
    /// It is of a type that this version does not know, and so may have any shape.
    Event,
}

impl Foreign {
    /// What `data` is; `None` when it is of a type that is known and yet has another shape.
    pub(super) fn read(data: &str) -> Option<Self> {
        const FRAMES: [&str; 6] = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ];
        const DELTAS: [&str; 5] =
            ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"];
        let value: Value = serde_json::from_str(data).ok()?;
        let kind = value.get("type")?.as_str()?;
        if !FRAMES.contains(&kind) {
            return Some(Self::Event);
        }
        let delta = value.get("delta")?.as_object()?;
        let known = |delta: &Map<String, Value>| {
            delta.get("type").and_then(Value::as_str).is_none_or(|kind| DELTAS.contains(&kind))
        };
        if kind != "content_block_delta" || known(delta) {
            return None;
        }
        let index = value.get("index").and_then(Value::as_u64).unwrap_or_default();
        Some(Self::Delta { index, delta: delta.clone() })
    }
}
