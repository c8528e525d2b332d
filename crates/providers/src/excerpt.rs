//! Foreign text shortened for one line of an error message.

/// Most characters of an excerpt.
const LIMIT: usize = 200;

/// The beginning of `text`, at most 200 characters, with white space and control characters run together.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short = String::new();
    let mut count = 0;
    let clean = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for (at, word) in clean.enumerate() {
        for c in (at > 0).then_some(' ').into_iter().chain(word.chars()) {
            if count == LIMIT {
                short.push('…');
                return short;
            }
            short.push(c);
            count += 1;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("  a\n\t b\u{1b}[1m "), "a b [1m");
        assert_eq!(excerpt(&"ä".repeat(500)), format!("{}…", "ä".repeat(200)));
    }
}
