//! The regular expression of a search.

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::failure::Failure;

/// What to look for, as the model wrote it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expression<'a> {
    pub(super) pattern: &'a str,
    /// The pattern is text, not a regular expression.
    pub(super) fixed: bool,
    pub(super) ignore_case: bool,
    /// Matches may span lines, and `.` matches line breaks.
    pub(super) multiline: bool,
}

/// Compiles `wanted`; the second value tells whether it may match across lines.
///
/// A pattern that contains a line break may, asked for or not; `.` then still ends at the line. CRLF counts as the
/// end of a line for `$` only where matches do not span lines: there `.` must match its first half.
///
/// # Errors
///
/// When it is not a regular expression: the message shows the place.
pub(super) fn compile(wanted: Expression<'_>) -> Result<(RegexMatcher, bool), Failure> {
    if wanted.multiline {
        return across_lines(wanted).map(|matcher| (matcher, true));
    }
    match builder(wanted).crlf(true).build(wanted.pattern) {
        Ok(matcher) => Ok((matcher, false)),
        Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {
            across_lines(wanted).map(|matcher| (matcher, true))
        }
        Err(error) => Err(invalid(wanted.pattern, &error)),
    }
}

fn across_lines(wanted: Expression<'_>) -> Result<RegexMatcher, Failure> {
    let mut builder = builder(wanted);
    builder.dot_matches_new_line(wanted.multiline);
    builder.build(wanted.pattern).map_err(|error| invalid(wanted.pattern, &error))
}

fn builder(wanted: Expression<'_>) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(wanted.ignore_case).fixed_strings(wanted.fixed);
    builder
}

fn invalid(pattern: &str, error: &Error) -> Failure {
    let message = in_terms_of(pattern, &error.to_string());
    let hint = if message.contains("look-around") {
        "Search for what the line holds in any case, show some context, and choose among the results."
    } else if message.contains("backreferences") {
        "Search for both parts with `.*` between them, and choose among the results."
    } else {
        "To find special characters themselves, escape them, as in `\\(`, or set fixedStrings."
    };
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
    use grep_matcher::Matcher;

    use super::*;

    fn expression(pattern: &str) -> Expression<'_> {
        Expression { pattern, fixed: false, ignore_case: false, multiline: false }
    }

    #[test]
    fn the_place_of_a_mistake_is_shown_in_the_pattern() {
        let message = |pattern| compile(expression(pattern)).unwrap_err().to_string();
        let hint = "\nTo find special characters themselves, escape them, as in `\\(`, or set fixedStrings.";
        let repetition = "regex parse error:\n    a[\n     ^\nerror: unclosed character class";
        assert_eq!(message("a["), format!("{repetition}{hint}"));
        let group = "regex parse error:\n    fn main(\nerror: unclosed group";
        assert_eq!(message("fn main("), format!("{group}{hint}"));
    }

    #[test]
    fn what_this_kind_of_expression_lacks_is_told_with_a_way_out() {
        for (pattern, way) in [("a(?=b)", "choose among"), (r"(a)\1", "`.*` between them")] {
            let message = compile(expression(pattern)).unwrap_err().to_string();
            assert!(message.contains("not supported") && message.contains(way), "{message}");
            assert!(message.contains('^'), "{message}");
        }
    }

    #[test]
    fn a_line_break_in_a_pattern_makes_it_span_lines_but_not_its_dot() {
        assert!(!compile(expression("a.b")).unwrap().1);
        let (matcher, across) = compile(expression(r"a.*\nb")).unwrap();
        assert!(across && matcher.is_match(b"a x\r\nb").unwrap() && !matcher.is_match(b"a\nx\nb").unwrap());
        let (matcher, _) = compile(Expression { multiline: true, ..expression("a.*b") }).unwrap();
        assert!(matcher.is_match(b"a\r\nx\nb").unwrap());
        let (matcher, across) = compile(Expression { fixed: true, ..expression("a(\n.") }).unwrap();
        assert!(across && matcher.is_match(b"a(\n.").unwrap() && !matcher.is_match(b"a(\nx").unwrap());
    }
}
