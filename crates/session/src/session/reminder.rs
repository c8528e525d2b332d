//! What a prompt carries besides the user's words: the note about the run, and what hooks add.

use robota_core::{Message, MessageRef, Part, system_reminder};
use serde_json::Value;

/// Where a message says which note it carries.
const NOTE: &str = "contextNote";

/// The last note that `messages` carry; none when it is the one of the message `outdated`.
pub(super) fn last_note<'a>(messages: &'a [MessageRef], outdated: Option<&str>) -> Option<&'a str> {
    let (id, note) =
        messages.iter().rev().find_map(|message| Some((&message.id, message.metadata.get(NOTE)?)))?;
    note.as_str().filter(|_| outdated != Some(id.as_str()))
}

/// The id of the message with the last note, when a command was called after it.
pub(super) fn note_before_calls(
    messages: &[MessageRef],
    is_command: impl Fn(&str) -> bool,
) -> Option<String> {
    let at = messages.iter().rposition(|message| message.metadata.contains_key(NOTE))?;
    let (noted, later) = messages.get(at..)?.split_first()?;
    let called = later.iter().flat_map(|message| message.tool_calls()).any(|call| is_command(&call.name));
    called.then(|| noted.id.clone())
}

/// Adds `note` and `context` to a prompt, as a part of its own behind the user's words.
pub(super) fn add(prompt: &mut Message, note: Option<&str>, context: &[String]) {
    let pieces: Vec<&str> = note.into_iter().chain(context.iter().map(String::as_str)).collect();
    let Some(text) = system_reminder(&pieces) else { return };
    if let robota_core::Body::User { parts, .. } = &mut prompt.body {
        parts.push(Part::Text { text });
    }
    if let Some(note) = note {
        prompt.metadata.insert(NOTE.to_owned(), Value::from(note));
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{Body, Timestamp};

    use super::*;

    #[test]
    fn the_words_of_the_user_stay_as_they_are() {
        let mut prompt = Message::user("u", Timestamp::default(), "do it");
        add(&mut prompt, Some("Date: today"), &["a hook said </system-reminder> this".to_owned()]);
        let Body::User { content, parts, .. } = &prompt.body else { panic!("{prompt:?}") };
        assert_eq!(content, "do it");
        let text =
            "<system-reminder>\nDate: today\n\na hook said <\\/system-reminder> this\n</system-reminder>";
        assert_eq!(*parts, [Part::Text { text: text.to_owned() }]);
        assert_eq!(last_note(&[prompt.into()], None), Some("Date: today"));
    }

    #[test]
    fn a_prompt_with_nothing_to_add_is_untouched() {
        let mut prompt = Message::user("u", Timestamp::default(), "do it");
        let before = prompt.clone();
        add(&mut prompt, None, &[]);
        assert_eq!(prompt, before);
    }
}
