//! Where a text occurs in a file, whatever line endings either of them uses.

use std::ops::Range;

/// The places of a replacement, and the replacement with the line endings of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) places: Vec<Range<usize>>,
    pub(super) replacement: String,
}

/// Finds `old` in `text` from the beginning, without overlaps.
///
/// Where `text` ends its lines with CRLF, an LF in `old` matches that, and an LF in `new` becomes it.
pub(super) fn plan(text: &str, old: &str, new: &str) -> Plan {
    let carriage_returns = text.matches("\r\n").count();
    let mostly_crlf = carriage_returns * 2 > text.matches('\n').count();
    let exact = find_all(text, old);
    if !exact.is_empty() {
        let replacement = if mostly_crlf { to_crlf(new) } else { new.to_owned() };
        return Plan { places: exact, replacement };
    }
    if carriage_returns > 0 {
        let places = find_all(text, &to_crlf(old));
        if !places.is_empty() {
            return Plan { places, replacement: to_crlf(new) };
        }
    }
    let places = if old.contains("\r\n") { find_all(text, &to_lf(old)) } else { Vec::new() };
    Plan { places, replacement: to_lf(new) }
}

/// `text` with `replacement` at every place.
pub(super) fn apply(text: &str, plan: &Plan) -> String {
    let removed: usize = plan.places.iter().map(Range::len).sum();
    let added = plan.places.len() * plan.replacement.len();
    let mut result = String::with_capacity(text.len() - removed + added);
    let mut from = 0;
    for place in &plan.places {
        result.push_str(text.get(from..place.start).unwrap_or_default());
        result.push_str(&plan.replacement);
        from = place.end;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    result
}

fn find_all(text: &str, old: &str) -> Vec<Range<usize>> {
    text.match_indices(old).map(|(at, found)| at..at + found.len()).collect()
}

fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edited(text: &str, old: &str, new: &str) -> String {
        apply(text, &plan(text, old, new))
    }

    #[test]
    fn line_endings_are_those_of_the_file() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n"), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(edited("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(edited("a\nb\nc\n", "a\r\nb", "x\r\ny"), "x\ny\nc\n");
        assert_eq!(edited("a\nb\nc\r\nd\n", "c\nd", "e\nf"), "a\nb\ne\r\nf\n");
    }

    proptest! {
        #[test]
        fn a_replacement_that_is_new_can_be_undone(text in "[ab\n]{0,60}", old in "[ab\n]{1,4}") {
            let there = edited(&text, &old, "#");
            prop_assert_eq!(edited(&there, "#", &old), text);
        }
    }
}
