//! Text of models, tools and servers, made harmless for a terminal or a shell.

/// True for characters that make a terminal act, or show text in another order than it has.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, without anything a terminal would act on.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if acts(letter) { ' ' } else { letter }).collect()
}

/// The text with its lines and tabs, without anything else a terminal would act on.
pub(crate) fn lines(text: &str) -> String {
    let shown = |letter| if acts(letter) && !matches!(letter, '\n' | '\t') { '\u{fffd}' } else { letter };
    text.chars().map(shown).collect()
}

/// The same JSON, with escapes in its texts in the place of what a terminal would act on.
pub(crate) fn json(json: String) -> String {
    if !json.chars().any(acts) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        // All of them are in the plane of which one escape tells.
        if acts(letter) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// The text as one word of a POSIX shell; `None` when a person could not see what it holds.
pub(crate) fn shell_word(text: &str) -> Option<String> {
    (!text.chars().any(acts)).then(|| format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_gone() {
        assert_eq!(one_line("a\x1b[2J\nb\u{202e}c"), "a [2J b c");
        assert_eq!(lines("a\n\tb\x1b]0;x\x07"), "a\n\tb\u{fffd}]0;x\u{fffd}");
    }

    #[test]
    fn json_means_the_same_and_a_terminal_takes_no_notice() {
        let text = "a\u{7f}b\u{9b}2Jc\u{202e}d\nä";
        let told = json(serde_json::to_string(text).unwrap());
        assert_eq!(told, r#""a\u007fb\u009b2Jc\u202ed\nä""#);
        assert_eq!(serde_json::from_str::<String>(&told).unwrap(), text);
    }

    #[test]
    fn a_quoted_word_reaches_the_program_as_it_is() {
        let hostile = "Bash(echo 'a; touch PWN; b' \"$(id)\" `id` \\)";
        let word = shell_word(hostile).unwrap();
        let echoed =
            assert_cmd::Command::new("sh").args(["-c", &format!("printf %s {word}")]).output().unwrap();
        assert_eq!(String::from_utf8(echoed.stdout).unwrap(), hostile);
        assert_eq!(shell_word("two\nlines"), None);
        assert_eq!(shell_word("right\u{202e}left"), None);
    }
}
