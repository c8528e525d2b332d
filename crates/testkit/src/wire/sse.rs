//! Server-sent events as bytes.

use bytes::Bytes;

use super::{Frame, Item};
use crate::script::Framing;

pub(super) fn lay_out(items: Vec<Item>, framing: Framing) -> Vec<Frame> {
    let end = if framing.crlf { "\r\n" } else { "\n" };
    let mut frames = Vec::with_capacity(items.len());
    for item in items {
        let frame = match item {
            Item::Event { name, data } => {
                let mut text = String::with_capacity(data.len() + 64);
                if framing.comments {
                    text.extend([": comment", end, end]);
                }
                if let Some(name) = name {
                    text.extend(["event: ", name, end]);
                }
                text.extend(["data: ", &data, end, end]);
                Frame::Chunk(text.into())
            }
            Item::Comment(comment) => Frame::Chunk([": ", comment, end, end].concat().into()),
            Item::Raw(bytes) if bytes.is_empty() => continue,
            Item::Raw(bytes) => Frame::Chunk(bytes),
            Item::Gate(name) => Frame::Gate(name),
            Item::Pause(millis) => Frame::Pause(millis),
            Item::Cut => Frame::Cut,
        };
        frames.push(frame);
    }
    frames
}

impl Item {
    pub(super) fn event(name: &'static str, data: &serde_json::Value) -> Self {
        Self::Event { name: Some(name), data: data.to_string() }
    }

    pub(super) fn data(data: &serde_json::Value) -> Self {
        Self::Event { name: None, data: data.to_string() }
    }

    pub(super) fn raw(bytes: &Bytes) -> Self {
        Self::Raw(bytes.clone())
    }
}
