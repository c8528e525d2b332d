//! Texts of hooks, bounded and made harmless; names of hooks for people.

use super::{HookAction, HookOrigin};

/// The most that one text of a hook may have, in characters.
const MAX_CHARS: usize = 10_000;
/// The most that is shown of a command or a question.
const NAME_CHARS: usize = 80;

/// A text for the model: cut when it is long.
pub(super) fn bounded(text: &str) -> String {
    let text = text.trim_end();
    let Some((end, _)) = text.char_indices().nth(MAX_CHARS) else { return text.to_owned() };
    let (kept, rest) = text.split_at(end);
    format!("{kept}\n[... {} characters of the hook's output left out here ...]", rest.chars().count())
}

/// A text that people see: bounded, and without anything a terminal would act on.
pub(super) fn harmless(text: &str) -> String {
    let stays = |letter: char| matches!(letter, '\n' | '\t') || !acts(letter);
    let text = text.trim().replace("\r\n", "\n");
    bounded(&text).chars().map(|letter| if stays(letter) { letter } else { '\u{fffd}' }).collect()
}

/// The same on one line.
pub(super) fn one_line(text: &str) -> String {
    harmless(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True for characters that make a terminal act, or show text in another order than it has.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A hook as a person knows it: what it does, and where it is written.
pub(super) fn name_of(action: &HookAction, origin: &HookOrigin) -> String {
    let what = match action {
        HookAction::Command { command } => format!("`{}`", beginning(command)),
        HookAction::Http { url, .. } => format!("`{}`", beginning(without_secrets(url))),
        HookAction::Prompt { prompt, .. } => format!("with the prompt `{}`", beginning(prompt)),
        HookAction::Agent { prompt, .. } => format!("with the agent `{}`", beginning(prompt)),
    };
    format!("{what} (in {})", one_line(&origin.place))
}

fn beginning(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// An address without its query, and without what may be a password in front of the host.
fn without_secrets(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host_end = authority.find('/').unwrap_or(authority.len());
    match authority.get(..host_end).and_then(|host| host.rfind('@')) {
        Some(at) => authority.get(at + 1..).unwrap_or_default(),
        None => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HookScope;

    #[test]
    fn texts_are_cut_with_a_notice_and_cannot_act() {
        let long = "é".repeat(MAX_CHARS + 7);
        let cut = bounded(&long);
        let expected = "é".repeat(MAX_CHARS) + "\n[... 7 characters of the hook's output left out here ...]";
        assert_eq!(cut, expected);
        assert_eq!(harmless("a\u{1b}[2Jb\r\nc\td\u{202e}\n"), "a\u{fffd}[2Jb\nc\td\u{fffd}");
        assert_eq!(one_line("a\n  b"), "a b");
    }

    #[test]
    fn names_tell_what_and_where_but_no_secret() {
        let origin = HookOrigin { place: "/h/settings.json".into(), scope: HookScope::User };
        let http = HookAction::Http {
            url: "https://me:pw@host.example/a?key=secret".into(),
            headers: [].into(),
            allowed_variables: vec![],
        };
        assert_eq!(name_of(&http, &origin), "`host.example/a` (in /h/settings.json)");
        let command = HookAction::Command { command: format!("guard\n{}", "x".repeat(200)) };
        let expected = format!("`guard {}...` (in /h/settings.json)", "x".repeat(74));
        assert_eq!(name_of(&command, &origin), expected);
    }
}
