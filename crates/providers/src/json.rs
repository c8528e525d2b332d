//! JSON written piece by piece into a request body.

use robota_core::{Body, Message, ModelRequest, Part};
use serde::Serialize;

/// Appends `value` as JSON.
pub(crate) fn push(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    // Writing to memory cannot fail, and all maps written here have strings as keys; a body must
    // stay well-formed all the same.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Appends `,"name":value`.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) {
    out.push(b',');
    push(out, name);
    out.push(b':');
    push(out, value);
}

/// Appends the items as a list, each written by `write`.
pub(crate) fn push_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Room that `message` needs in a body, about.
pub(crate) fn room_for(message: &Message) -> usize {
    let part = |part: &Part| match part {
        Part::Text { text } => text.len(),
        Part::ImageInline { data, .. } | Part::DocumentInline { data, .. } => data.len(),
        Part::ImageUri { uri, .. } => uri.len(),
        _ => 0,
    };
    let (Body::User { parts, .. } | Body::Assistant { parts, .. } | Body::Tool { parts, .. }) = &message.body
    else {
        return room(message.text().len());
    };
    let calls = message.tool_calls().iter().map(|call| call.arguments.len() + 128);
    room(message.text().len() + parts.iter().map(part).sum::<usize>() + calls.sum::<usize>())
}

/// Room that the whole of `request` needs, about. Growing a body of megabytes costs more than writing it.
///
/// Rounded up to a power of two, so that most rounds ask for as much memory as the round before and get
/// it again: for a body of megabytes, fresh pages cost several times as much as writing it. Pages that
/// are not written to cost nothing.
pub(crate) fn room_for_body(request: &ModelRequest) -> usize {
    let messages = request.messages.iter().map(|message| room_for(message));
    let room = 8192 + request.system.len() + 1024 * request.tools.len() + messages.sum::<usize>();
    room.next_power_of_two()
}

/// `bytes` of text with what quoting adds, and the fields around it.
const fn room(bytes: usize) -> usize {
    bytes + bytes / 8 + 128
}
