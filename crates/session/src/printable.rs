//! Text of files and people, made harmless for messages.

/// True for characters that make a terminal act, break a line, or show text in another order than it has.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, without anything a terminal would act on.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if acts(letter) { '\u{fffd}' } else { letter }).collect()
}
