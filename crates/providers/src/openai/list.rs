//! The messages of a body, in an order and with roles that the server takes.

use robota_core::{Body, MessageRef};
use serde_json::{Value, json};

use super::messages::{self, BATCH_END, Manner};
use super::quirks::SystemRole;
use crate::{json, phrasing};

/// Writes the messages. Between a batch of calls and the last of its results nothing else may stand,
/// so the images of results wait for the end of the batch. Several user messages in a row stay as they are where the
/// server lets them; a conversation that begins with an answer gets a user message before it, which the chat
/// templates of many servers insist on.
pub(super) fn push_messages(list: &mut List<'_>, manner: &Manner<'_>, messages: &[MessageRef]) {
    let mut begun = false;
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    for message in messages {
        if !matches!(message.body, Body::Tool { .. }) {
            waiting.drain(..).for_each(|images| list.push(&images));
        }
        message.encoded(
            manner.format(),
            |message| manner.encode(message),
            |bytes| {
                if !begun && !bytes.is_empty() {
                    begun = true;
                    if matches!(message.body, Body::Assistant { .. }) {
                        list.push(&messages::user(phrasing::BEGINNING_MISSING));
                    }
                }
                let Some((now, later)) = split(message, bytes) else { return list.push(bytes) };
                list.push(now);
                waiting.push(later.to_vec());
            },
        );
    }
    waiting.drain(..).for_each(|images| list.push(&images));
}

/// The result of a tool and its images.
fn split<'a>(message: &MessageRef, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let Body::Tool { parts, .. } = &message.body else { return None };
    if parts.is_empty() {
        return None;
    }
    let at = bytes.iter().position(|byte| *byte == BATCH_END)?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

/// Messages in the making.
pub(super) struct List<'a> {
    out: &'a mut Vec<u8>,
    /// Neighbours of one role are joined.
    alternate: bool,
    user_after_tool: bool,
    /// Where the last message begins, and whose it is.
    last: Option<(usize, Role)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
    Other,
}

impl<'a> List<'a> {
    /// A list at the end of `out`.
    pub(super) fn new(out: &'a mut Vec<u8>, alternate: bool, user_after_tool: bool) -> Self {
        out.push(b'[');
        Self { out, alternate, user_after_tool, last: None }
    }

    /// Adds the system prompt, under a role the server knows; `None` for the user's.
    pub(super) fn push_system(&mut self, system: &str, role: Option<SystemRole>) {
        if phrasing::is_blank(system) {
            return;
        }
        let role = match role {
            Some(SystemRole::Developer) => "developer",
            Some(SystemRole::System) => "system",
            None => "user",
        };
        let mut message = Vec::with_capacity(system.len() + 64);
        json::push(&mut message, &json!({"role": role, "content": system}));
        self.push(&message);
    }

    /// Adds one encoded message, or nothing.
    pub(super) fn push(&mut self, message: &[u8]) {
        if message.is_empty() {
            return;
        }
        let role = role_of(message);
        match self.last {
            Some((at, last)) if self.alternate && last == role && role != Role::Tool => {
                if let Some(joined) = self.out.get(at..).and_then(|last| joined(last, message)) {
                    self.out.truncate(at);
                    self.out.extend_from_slice(&joined);
                    return;
                }
            }
            Some((_, Role::Tool)) if role == Role::User && !self.user_after_tool => {
                self.push(ACKNOWLEDGED);
            }
            _ => {}
        }
        if self.last.is_some() {
            self.out.push(b',');
        }
        self.last = Some((self.out.len(), role));
        self.out.extend_from_slice(message);
    }

    /// Ends the list.
    pub(super) fn end(self) {
        self.out.push(b']');
    }
}

/// Stands between the result of a tool and a user's words.
const ACKNOWLEDGED: &[u8] = br#"{"role":"assistant","content":"The results are here."}"#;

fn role_of(message: &[u8]) -> Role {
    const ROLES: [(&[u8], Role); 3] = [
        (b"{\"role\":\"user\"", Role::User),
        (b"{\"role\":\"assistant\"", Role::Assistant),
        (b"{\"role\":\"tool\"", Role::Tool),
    ];
    ROLES.iter().find(|(beginning, _)| message.starts_with(beginning)).map_or(Role::Other, |(_, role)| *role)
}

/// Two messages of one role as one. Calls stay apart from what follows them, so only the second one may call.
fn joined(first: &[u8], second: &[u8]) -> Option<Vec<u8>> {
    let mut first: Value = serde_json::from_slice(first).ok()?;
    let Value::Object(second) = serde_json::from_slice(second).ok()? else { return None };
    let fields = first.as_object_mut()?;
    if fields.contains_key("tool_calls") {
        return None;
    }
    for (name, value) in second {
        let value = match (name.as_str(), fields.remove(&name)) {
            ("content", Some(before)) => contents(before, value),
            ("reasoning_content" | "reasoning", Some(before)) => contents(before, value),
            (_, _) => value,
        };
        fields.insert(name, value);
    }
    serde_json::to_vec(&first).ok()
}

fn contents(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Null, other) | (other, Value::Null) => other,
        (Value::String(first), Value::String(second)) => {
            let gap = if first.is_empty() || second.is_empty() { "" } else { "\n\n" };
            Value::String(format!("{first}{gap}{second}"))
        }
        (first, second) => as_parts(first).into_iter().chain(as_parts(second)).collect(),
    }
}

fn as_parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) if text.is_empty() => Vec::new(),
        other => vec![json!({"type": "text", "text": other})],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(alternate: bool, user_after_tool: bool, messages: &[Value]) -> Value {
        let mut out = Vec::new();
        let mut list = List::new(&mut out, alternate, user_after_tool);
        messages.iter().for_each(|message| list.push(message.to_string().as_bytes()));
        list.end();
        serde_json::from_slice(&out).unwrap()
    }

    fn says(role: &str, content: impl Into<Value>) -> Value {
        json!({"role": role, "content": content.into()})
    }

    #[test]
    fn quirk_15_neighbours_of_one_role_are_joined_where_roles_must_take_turns() {
        let picture = json!([{"type": "image_url", "image_url": {"url": "u"}}]);
        let messages = [
            says("system", "S"),
            says("user", "a"),
            says("user", "b"),
            says("user", picture.clone()),
            says("assistant", "x"),
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}),
            json!({"role": "tool", "tool_call_id": "1", "content": "r"}),
            json!({"role": "tool", "tool_call_id": "2", "content": "s"}),
            says("user", "c"),
        ];
        assert_eq!(list(false, true, &messages), json!(messages));
        let expected = json!([
            says("system", "S"),
            says("user", json!([{"type": "text", "text": "a\n\nb"}, picture[0]])),
            {"role": "assistant", "content": "x", "tool_calls": [{"id": "1"}]},
            messages[6], messages[7],
            says("assistant", "The results are here."),
            says("user", "c"),
        ]);
        assert_eq!(list(true, false, &messages), expected);
    }
}
