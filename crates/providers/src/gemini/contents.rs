//! The conversation as contents: user and model in turns.

use std::collections::HashMap;

use robota_core::{Body, Message, MessageRef};

use super::parts::{self, AFTER_RESULTS, Form};
use crate::{json, phrasing};

/// Appends the messages as `contents`. Neighbours of one role become one content, the first is the user's, and
/// in a content the results of tools come first.
pub(super) fn push(out: &mut Vec<u8>, messages: &[MessageRef], form: Form) {
    let names = names_of_calls(messages);
    let mut contents = Contents { out, role: None, later: Vec::new() };
    contents.out.push(b'[');
    for turn in messages.chunk_by(|a, b| role(a) == role(b)) {
        let (results, others): (Vec<_>, Vec<_>) =
            turn.iter().partition(|message| message.answers().is_some());
        for (at, message) in results.iter().chain(&others).enumerate() {
            if at == results.len() {
                contents.close_results();
            }
            let called = message.answers().and_then(|id| names.get(id).copied());
            let encode = |message: &Message| parts::encode(message, form, called);
            let with_media = matches!(&message.body, Body::Tool { parts, .. } if !parts.is_empty());
            message.encoded(form.format, encode, |bytes| contents.add(role(message), bytes, with_media));
        }
    }
    contents.close();
    contents.out.push(b']');
}

/// The tools that were called, by the ids of the calls. Empty when every result names its tool.
fn names_of_calls(messages: &[MessageRef]) -> HashMap<&str, &str> {
    let nameless = |message: &MessageRef| matches!(message.body, Body::Tool { name: None, .. });
    if !messages.iter().any(nameless) {
        return HashMap::new();
    }
    let calls = messages.iter().flat_map(|message| message.tool_calls());
    calls.map(|call| (call.id.as_str(), call.name.as_str())).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    User,
    Model,
}

fn role(message: &MessageRef) -> Role {
    if matches!(message.body, Body::Assistant { .. }) { Role::Model } else { Role::User }
}

struct Contents<'a> {
    out: &'a mut Vec<u8>,
    /// Whose content is open.
    role: Option<Role>,
    /// What can only stand after all the results in it.
    later: Vec<u8>,
}

impl Contents<'_> {
    fn add(&mut self, role: Role, bytes: &[u8], with_media: bool) {
        if bytes.is_empty() {
            return;
        }
        if self.role != Some(role) {
            self.turn(role);
        }
        if !with_media {
            return push_parts(self.out, bytes);
        }
        let mut halves = bytes.splitn(2, |byte| *byte == AFTER_RESULTS);
        push_parts(self.out, halves.next().unwrap_or_default());
        push_parts(&mut self.later, halves.next().unwrap_or_default());
    }

    fn turn(&mut self, role: Role) {
        let first = self.role.is_none();
        self.close();
        if !first {
            self.out.push(b',');
        } else if role == Role::Model {
            self.out.extend_from_slice(b"{\"role\":\"user\",\"parts\":[{\"text\":");
            json::push(self.out, phrasing::BEGINNING_MISSING);
            self.out.extend_from_slice(b"}]},");
        }
        self.role = Some(role);
        self.out.extend_from_slice(match role {
            Role::User => b"{\"role\":\"user\",\"parts\":[",
            Role::Model => b"{\"role\":\"model\",\"parts\":[",
        });
    }

    /// Appends what waited for the end of the results. What comes later must not move it: the model has seen it
    /// there.
    fn close_results(&mut self) {
        let later = std::mem::take(&mut self.later);
        push_parts(self.out, &later);
    }

    fn close(&mut self) {
        self.close_results();
        if self.role.is_some() {
            self.out.extend_from_slice(b"]}");
        }
    }
}

/// Appends parts to those that `out` ends with.
fn push_parts(out: &mut Vec<u8>, parts: &[u8]) {
    if !parts.is_empty() && out.last().is_some_and(|last| *last != b'[') {
        out.push(b',');
    }
    out.extend_from_slice(parts);
}
