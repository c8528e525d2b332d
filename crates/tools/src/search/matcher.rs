//! The regular expression of a search.

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::failure::Failure;

/// Compiles `pattern`; the second value tells whether it may match across lines.
///
/// A pattern that contains a line break is a multi-line one, asked for or not.
///
/// # Errors
///
/// When it is not a regular expression: the message shows the place.
pub(super) fn compile(
    pattern: &str,
    ignore_case: bool,
    multiline: bool,
) -> Result<(RegexMatcher, bool), Failure> {
    if multiline {
        return across_lines(pattern, ignore_case).map(|matcher| (matcher, true));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(ignore_case).crlf(true);
    match builder.build(pattern) {
        Ok(matcher) => Ok((matcher, false)),
        Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {
            across_lines(pattern, ignore_case).map(|matcher| (matcher, true))
        }
        Err(error) => Err(invalid(pattern, &error)),
    }
}

fn across_lines(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(ignore_case).dot_matches_new_line(true);
    builder.build(pattern).map_err(|error| invalid(pattern, &error))
}

fn invalid(pattern: &str, error: &Error) -> Failure {
    let message = in_terms_of(pattern, &error.to_string());
    let hint = "To find special characters themselves, escape them, as in `\\(`.";
    Failure::new("invalid_pattern", format!("{message}\n{hint}"))
}

/// The message without the group that the library puts around the pattern.
fn in_terms_of(pattern: &str, message: &str) -> String {
    let wrapped = format!("(?:{pattern})");
    let mut lines = Vec::new();
    for line in message.lines() {
        if line.trim() == wrapped {
            lines.push(format!("    {pattern}"));
        } else if !line.is_empty() && line.trim_matches([' ', '^']).is_empty() {
            // Marks under the added group say nothing about the pattern.
            let marks = line.strip_prefix("       ").filter(|marks| marks.contains('^'));
            lines.extend(marks.map(|marks| format!("    {marks}")));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_mistake_is_shown_in_the_pattern() {
        let message = |pattern| compile(pattern, false, false).unwrap_err().to_string();
        let hint = "\nTo find special characters themselves, escape them, as in `\\(`.";
        let repetition = "regex parse error:\n    a[\n     ^\nerror: unclosed character class";
        assert_eq!(message("a["), format!("{repetition}{hint}"));
        let group = "regex parse error:\n    fn main(\nerror: unclosed group";
        assert_eq!(message("fn main("), format!("{group}{hint}"));
    }

    #[test]
    fn a_line_break_in_a_pattern_makes_it_span_lines() {
        assert!(!compile("a.b", false, false).unwrap().1);
        assert!(compile(r"a\nb", false, false).unwrap().1);
    }
}
