//! Text of a page without its markup.

use std::borrow::Cow;

/// The text with its character references (`&amp;`, `&#8212;`) replaced by what they stand for.
pub(super) fn without_references(text: &str) -> Cow<'_, str> {
    html_escape::decode_html_entities(text)
}

/// The text of a fragment of HTML, on one line: tags and character references gone.
pub(super) fn plain(fragment: &str) -> String {
    let mut words = String::with_capacity(fragment.len());
    let mut rest = fragment;
    while let Some((text, after)) = rest.split_once('<') {
        words.push_str(text);
        rest = after;
        if !after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
            words.push('<');
        } else if let Some((_, behind)) = after.split_once('>') {
            rest = behind;
        } else {
            words.push('<');
            break;
        }
    }
    words.push_str(rest);
    one_line(&without_references(&words))
}

/// The text on one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_text_stays() {
        let cases = [
            ("About <strong>one</strong> &amp; two&nbsp;&mdash;\n three", "About one & two — three"),
            ("1 < 2 <b", "1 < 2 <b"),
            ("a\x1b[2J b\0\u{9b}c", "a [2J b c"),
            ("&lt;b&gt; stays &#x41;&#66; &nosuch;", "<b> stays AB &nosuch;"),
        ];
        for (fragment, expected) in cases {
            assert_eq!(plain(fragment), expected);
        }
    }
}
