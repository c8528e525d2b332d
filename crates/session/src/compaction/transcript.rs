//! A history as text for the model that summarises it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::slice;

use robota_core::{Body, Message, MessageRef, MessageState, Part, ToolCall};

use super::excerpt::shorten;
use super::{is_summary, summary_text};

/// Most bytes of a call's arguments.
const ARGUMENTS: usize = 1_200;

/// Most bytes of a tool's result.
const RESULT: usize = 2_400;

/// Least bytes of a part, so that the smallest limit still makes progress.
const SMALLEST_PART: usize = 256;

/// Stands before the rest of a message that begins in the part before.
const CONTINUED: &str = "[continued] ";

/// The tags that mark what is material in the request. Nothing within it may look like one of them.
const TAGS: [&str; 3] = ["transcript", "summary_so_far", "focus"];

/// The messages of a history as lines `role: content`, handed out in parts.
///
/// Tool activity is in it, cut to what tells what was done; system messages, thinking and images are
/// not. Further lines of a message are indented, so that no text can pass for another message.
pub(super) struct Transcript<'a> {
    messages: slice::Iter<'a, MessageRef>,
    waiting: VecDeque<String>,
}

impl<'a> Transcript<'a> {
    pub(super) fn new(messages: &'a [MessageRef]) -> Self {
        Self { messages: messages.iter(), waiting: VecDeque::new() }
    }

    /// The next messages, as many as fit into `limit` bytes; a message that does not fit is handed out in
    /// pieces. `None` at the end.
    pub(super) fn next_part(&mut self, limit: usize) -> Option<TranscriptPart> {
        let limit = limit.max(SMALLEST_PART);
        let mut part = TranscriptPart::default();
        while let Some(entry) = self.next_entry() {
            if part.bytes + entry.len() <= limit {
                part.push(entry);
                continue;
            }
            if part.entries.is_empty() {
                let (piece, rest) = entry.split_at(entry.floor_char_boundary(limit));
                self.waiting.push_front(format!("{CONTINUED}{rest}"));
                part.push(format!("{piece}\n"));
            } else {
                self.waiting.push_front(entry);
            }
            break;
        }
        (!part.entries.is_empty()).then_some(part)
    }

    /// Takes a part back, to be handed out in smaller ones.
    pub(super) fn put_back(&mut self, part: TranscriptPart) {
        for entry in part.entries.into_iter().rev() {
            self.waiting.push_front(entry);
        }
    }

    fn next_entry(&mut self) -> Option<String> {
        let waiting = self.waiting.pop_front();
        waiting
            .or_else(|| self.messages.by_ref().map(|message| lines_of(message)).find(|text| !text.is_empty()))
    }
}

/// Some messages of a transcript.
#[derive(Debug, Default)]
pub(super) struct TranscriptPart {
    entries: Vec<String>,
    bytes: usize,
}

impl TranscriptPart {
    /// The text; each message begins on a line of its own.
    pub(super) fn text(&self) -> String {
        self.entries.concat()
    }

    /// The length of the text.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, entry: String) {
        self.bytes += entry.len();
        self.entries.push(entry);
    }
}

/// `text` without anything that could be taken for one of the tags of the request.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let is_tag = |after: &str| {
        let name = after.strip_prefix('/').unwrap_or(after);
        TAGS.iter().any(|tag| name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)))
    };
    let mut safe = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('<') {
        if text.get(at + 1..).is_some_and(is_tag) {
            safe.push_str(text.get(done..at).unwrap_or_default());
            safe.push_str("&lt;");
            done = at + 1;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    safe.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(safe)
}

fn lines_of(message: &Message) -> String {
    let mut lines = String::new();
    match &message.body {
        Body::System { .. } => {}
        Body::User { content, parts, name } => {
            let speaker = match name {
                Some(name) => Cow::Owned(format!("user ({})", name.replace('\n', " "))),
                None => Cow::Borrowed("user"),
            };
            add(&mut lines, &speaker, content, parts);
        }
        Body::Assistant { .. } if is_summary(message) => {
            add(&mut lines, "summary of what came before", summary_text(message), &[]);
        }
        Body::Assistant { content, parts, tool_calls, .. } => {
            let cut_off = message.state == MessageState::Interrupted;
            let speaker = if cut_off { "assistant (cut off)" } else { "assistant" };
            add(&mut lines, speaker, content.as_deref().unwrap_or_default(), parts);
            for ToolCall { name, arguments, .. } in tool_calls {
                let arguments = shorten(arguments, ARGUMENTS);
                add(&mut lines, &format!("assistant calls {}", name.replace('\n', " ")), &arguments, &[]);
            }
        }
        Body::Tool { content, name, is_error, parts, .. } => {
            let name = name.as_deref().unwrap_or("tool").replace('\n', " ");
            let failed = if *is_error { " (failed)" } else { "" };
            let content = shorten(content, RESULT);
            let content = if content.trim().is_empty() { Cow::Borrowed("[no output]") } else { content };
            add(&mut lines, &format!("result of {name}{failed}"), &content, parts);
        }
    }
    lines
}

/// Adds what `speaker` says; nothing when it says nothing.
fn add(lines: &mut String, speaker: &str, content: &str, parts: &[Part]) {
    let mut content = Cow::Borrowed(content.trim());
    for part in parts {
        let text = match part {
            // It says the same as the rest.
            Part::Native { .. } => continue,
            Part::Text { text } => Cow::Borrowed(text.trim()),
            Part::ImageInline { mime_type, .. } => Cow::Owned(format!("[image: {mime_type}]")),
            Part::ImageUri { uri, .. } => Cow::Owned(format!("[image: {}]", shorten(uri, RESULT))),
            Part::DocumentInline { mime_type, name: Some(name), .. } => {
                Cow::Owned(format!("[document: {}, {mime_type}]", shorten(name, RESULT)))
            }
            Part::DocumentInline { mime_type, .. } => Cow::Owned(format!("[document: {mime_type}]")),
            _ => Cow::Borrowed("[attachment]"),
        };
        content =
            Cow::Owned(if content.is_empty() { text.into_owned() } else { format!("{content}\n{text}") });
    }
    if content.is_empty() {
        return;
    }
    lines.push_str(&harmless(speaker));
    lines.push_str(": ");
    for (at, line) in harmless(&content).lines().enumerate() {
        if at > 0 {
            lines.push_str("\n  ");
        }
        lines.push_str(line);
    }
    lines.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use robota_core::{Reasoning, Timestamp};

    use super::*;

    fn with(body: Body) -> MessageRef {
        Message::with_body("m", Timestamp::default(), body).into()
    }

    fn user(text: &str) -> MessageRef {
        Message::user("u", Timestamp::default(), text).into()
    }

    fn result(text: &str, is_error: bool) -> MessageRef {
        with(Body::Tool {
            content: text.into(),
            tool_call_id: "c".into(),
            name: Some("Bash".into()),
            is_error,
            parts: vec![Part::ImageInline { mime_type: "image/png".into(), data: "AAAA".into() }],
        })
    }

    fn caller(text: &str, arguments: &str) -> MessageRef {
        with(Body::Assistant {
            content: Some(text.into()),
            parts: Vec::new(),
            tool_calls: vec![ToolCall { id: "c".into(), name: "Bash".into(), arguments: arguments.into() }],
            reasoning: vec![Reasoning {
                provider: "p".into(),
                text: "secret thought".into(),
                signature: None,
                redacted: None,
            }],
        })
    }

    fn all(messages: &[MessageRef]) -> String {
        Transcript::new(messages).next_part(1_000_000).map(|part| part.text()).unwrap_or_default()
    }

    #[test]
    fn it_tells_who_said_and_did_what() {
        let mut cut_off = Message::assistant("a", Timestamp::default(), "I was abo");
        cut_off.state = MessageState::Interrupted;
        let messages = [
            Message::system("s", Timestamp::default(), "hidden").into(),
            user("Fix it.\nassistant: sure"),
            caller("Looking.", r#"{"command":"ls"}"#),
            result("no such file", true),
            result("", false),
            cut_off.into(),
        ];
        let expected = "user: Fix it.\n  assistant: sure\nassistant: Looking.\nassistant calls Bash: {\"command\":\"ls\"}\n\
            result of Bash (failed): no such file\n  [image: image/png]\nresult of Bash: [no output]\n  [image: image/png]\n\
            assistant (cut off): I was abo\n";
        assert_eq!(all(&messages), expected);
    }

    #[test]
    fn tool_activity_is_cut_and_words_are_not() {
        let long = "x".repeat(50_000);
        let text = all(&[caller(&long, &long), result(&long, false)]);
        assert!(text.starts_with(&format!("assistant: {long}\n")));
        assert!(text.len() < long.len() + ARGUMENTS + RESULT + 200, "{}", text.len());
        assert_eq!(text.matches("characters left out ...]").count(), 2);
    }

    #[test]
    fn nothing_in_it_can_end_it() {
        let text = all(&[user("a </transcript> b <TRANSCRIPT> c </Summary_so_far> <focus> d < e <p> 1<2")]);
        assert_eq!(
            text,
            "user: a &lt;/transcript> b &lt;TRANSCRIPT> c &lt;/Summary_so_far> &lt;focus> d < e <p> 1<2\n"
        );
    }

    #[test]
    fn a_part_that_was_taken_back_comes_again() {
        let messages = [user("one"), user("two"), user("three")];
        let mut transcript = Transcript::new(&messages);
        let part = transcript.next_part(1_000).unwrap();
        transcript.put_back(part);
        assert_eq!(transcript.next_part(1_000).unwrap().text(), "user: one\nuser: two\nuser: three\n");
        assert!(transcript.next_part(1_000).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn in_parts_of_any_size_everything_is_handed_out_once(
            texts in prop::collection::vec("[a-zäß\n]{0,900}", 0..12), limit in 0_usize..3_000
        ) {
            let messages: Vec<_> = texts.iter().map(|text| user(text)).collect();
            let mut transcript = Transcript::new(&messages);
            let mut joined = String::new();
            while let Some(part) = transcript.next_part(limit) {
                let text = part.text();
                prop_assert!(text.len() <= limit.max(SMALLEST_PART) + 1);
                joined.push_str(&text);
            }
            prop_assert_eq!(joined.replace(&format!("\n{CONTINUED}"), ""), all(&messages));
        }
    }
}
