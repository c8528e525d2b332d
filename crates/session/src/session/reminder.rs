//! What a prompt carries besides the user's words: the note about the run, and what hooks add.

use robota_core::{Message, MessageRef, Part, system_reminder};
use serde_json::Value;

/// Where a message says which note it carries.
const NOTE: &str = "contextNote";

/// The last note that `messages` carry.
pub(super) fn last_note(messages: &[MessageRef]) -> Option<&str> {
    messages.iter().rev().find_map(|message| message.metadata.get(NOTE)?.as_str())
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
        assert_eq!(last_note(&[prompt.into()]), Some("Date: today"));
    }

    #[test]
    fn a_prompt_with_nothing_to_add_is_untouched() {
        let mut prompt = Message::user("u", Timestamp::default(), "do it");
        let before = prompt.clone();
        add(&mut prompt, None, &[]);
        assert_eq!(prompt, before);
    }
}
