//! What a history says in words where a wire format has no field for it.
//!
//! Each phrase is a pure function of the message, so that a message is encoded to the same bytes in
//! every request (design section 1, promise 6).

use std::borrow::Cow;

use robota_core::MessageState;

/// Stands at the end of an answer that was not finished.
const CUT_OFF: &str = "[This answer was cut off here, before it was complete.]";

/// Stands before an answer when a request would otherwise begin with one.
pub(crate) const BEGINNING_MISSING: &str = "[The beginning of this conversation is not included.]";

/// Instructions of the host that come up in the middle of a conversation.
pub(crate) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{}\n</system-reminder>", text.trim())
}

/// A user's text, with the speaker's name where there are several.
pub(crate) fn spoken<'a>(name: Option<&str>, content: &'a str) -> Cow<'a, str> {
    match name {
        Some(name) if !is_blank(content) => Cow::Owned(format!("{name}: {content}")),
        _ => Cow::Borrowed(content),
    }
}

/// The text of an assistant message; empty when it has none.
pub(crate) fn answered(content: Option<&str>, state: MessageState) -> Cow<'_, str> {
    let content = content.unwrap_or_default().trim_end();
    match state {
        MessageState::Complete => Cow::Borrowed(content),
        MessageState::Interrupted if content.is_empty() => Cow::Borrowed(CUT_OFF),
        MessageState::Interrupted => Cow::Owned(format!("{content}\n\n{CUT_OFF}")),
    }
}

/// Stands in for an image that the API cannot fetch.
pub(crate) fn unreachable_image(uri: &str) -> String {
    format!("[An image is stored at {uri}, where the model cannot see it.]")
}

/// Stands in for a part that this version cannot send.
pub(crate) const UNKNOWN_PART: &str = "[Content of a kind that cannot be sent to this model.]";

/// True for text that APIs refuse as empty.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}
