//! The lines around changes, numbered as in the changed file.

use std::fmt::Write;

use super::changes::Change;
use super::diff::newlines;

/// Unchanged lines shown on each side.
const CONTEXT: usize = 3;
/// Changes shown.
const MAX_CHANGES: usize = 5;
/// Lines of one change shown from its beginning and from its end.
const MAX_HALF: usize = 8;
/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 300;

/// Shows the lines of `text`, the new one, around `changes`; long ones lose their middle.
pub(super) fn around_changes(text: &str, changes: &[Change]) -> String {
    let mut shown = String::new();
    // The first byte that is not passed yet, at the beginning of a line, and the number of that line.
    let (mut passed, mut line) = (0, 1);
    for change in changes.iter().take(MAX_CHANGES) {
        let from = lines_back(text, change.new.start).max(passed);
        line += newlines(text, passed, from);
        let line_of = |at: usize| {
            if at < from { line - newlines(text, at, from) } else { line + newlines(text, from, at) }
        };
        let (start, end) = (line_of(change.new.start), line_of(change.new.end));
        let hidden = start + MAX_HALF..(end + 1).saturating_sub(MAX_HALF);
        let mut gap = from > passed && passed > 0;
        passed = from;
        let rest = text.get(from..).unwrap_or_default();
        for row in rest.split_inclusive('\n').take((end + CONTEXT + 1).saturating_sub(line)) {
            if hidden.contains(&line) {
                gap = true;
            } else {
                let gap = std::mem::take(&mut gap);
                push_line(&mut shown, line, row.trim_end_matches(['\n', '\r']), gap);
            }
            passed += row.len();
            line += 1;
        }
    }
    if changes.len() > MAX_CHANGES {
        // Writing to a string does not fail.
        let _ = writeln!(shown, "[{} more changes not shown]", changes.len() - MAX_CHANGES);
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    shown
}

fn push_line(shown: &mut String, number: usize, line: &str, gap: bool) {
    let kept = line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or(line);
    let mark = if kept.len() < line.len() { " [line cut]" } else { "" };
    let gap = if gap { "...\n" } else { "" };
    // Writing to a string does not fail.
    let _ = writeln!(shown, "{gap}{number}\t{kept}{mark}");
}

/// Where the line [`CONTEXT`] lines above that of `at` begins.
fn lines_back(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let newlines = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(at, _)| at + 1).nth(CONTEXT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, part: &str) -> Change {
        let at = text.find(part).unwrap();
        Change { old: 0..0, new: at..at + part.len() }
    }

    #[test]
    fn near_changes_share_their_context_and_far_ones_do_not() {
        let text: String = (1..=40).map(|number| format!("<{number}>\n")).collect();
        let changes = [change(&text, "<2>"), change(&text, "<4>\n<5>"), change(&text, "<20>")];
        let rows = |range: std::ops::RangeInclusive<usize>| -> String {
            range.map(|number| format!("{number}\t<{number}>\n")).collect()
        };
        let expected = rows(1..=8) + "...\n" + rows(17..=23).trim_end();
        assert_eq!(around_changes(&text, &changes), expected);
        let long = [change(&text, &text[text.find("<10>").unwrap()..text.find("<35>").unwrap()])];
        let expected = rows(7..=17) + "...\n" + rows(28..=38).trim_end();
        assert_eq!(around_changes(&text, &long), expected);
    }
}
