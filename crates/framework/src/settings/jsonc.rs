//! JSON as people keep it: with comments and trailing commas.

use std::ops::Range;

use jsonc_parser::ParseOptions;
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

/// What may stand in a settings file besides JSON: comments and trailing commas, and none of the rest that
/// such dialects allow, which the reader would refuse.
pub(crate) const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// `text` with spaces in the place of comments and trailing commas: every other byte, and every line end,
/// stays where it is. What cannot be told apart is left as it is from there on, for the reader to refuse.
pub(super) fn blank(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in passed_over(text) {
        let Some(piece) = bytes.get_mut(range) else { continue };
        piece.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
    // Whole characters were replaced, so it is text still.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Where the comments and trailing commas are.
fn passed_over(text: &str) -> Vec<Range<usize>> {
    let options = ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut scanner = Scanner::new(text, &options);
    let mut ranges = Vec::new();
    // A comma behind a value, as long as only comments have followed it.
    let mut comma: Option<Range<usize>> = None;
    let mut behind_value = false;
    while let Ok(Some(token)) = scanner.scan() {
        let range = scanner.token_start()..scanner.token_end();
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                ranges.push(range);
                continue;
            }
            Token::Comma => comma = behind_value.then_some(range),
            Token::CloseBrace | Token::CloseBracket => ranges.extend(comma.take()),
            _ => comma = None,
        }
        behind_value = !matches!(token, Token::Comma | Token::Colon | Token::OpenBrace | Token::OpenBracket);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, expected) in [
            ("{\"a\": 1, // é\n}", "{\"a\": 1       \n}"),
            ("/* a\r\n b */ [1 /* , */ , ]", "    \r\n      [1           ]"),
            (r#"["//", "/*\"", "*/",]"#, r#"["//", "/*\"", "*/" ]"#),
            ("[[1,],]", "[[1 ] ]"),
        ] {
            assert_eq!(blank(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_else_is_made_json() {
        for text in ["[,]", "[1,,]", "{\"a\":,}", "{'a': 1,}", "[1 /* open ]", "{a: 1}", "[1] # no", "[0x1,]"]
        {
            assert!(serde_json::from_str::<serde_json::Value>(&blank(text)).is_err(), "{text}");
        }
    }
}
