//! Unified diffs of a file before and after, in bounded time and size.

use std::fmt::Write;
use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The longest diff, in bytes; what follows is cut with a note.
const MAX_BYTES: usize = 32 * 1024;
/// After this the diff becomes coarser instead of minimal.
const TIME: Duration = Duration::from_millis(200);

/// The change from `old` to `new` as a unified diff of the file `name`; empty when there is none.
pub(super) fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    // Only the lines that differ, with their context, are compared: an edit of a large file is cheap.
    let skipped = common_start(old, new);
    let line = old.get(..skipped).unwrap_or_default().matches('\n').count();
    let (old, new) = (old.get(skipped..).unwrap_or_default(), new.get(skipped..).unwrap_or_default());
    let shared = common_end(old, new);
    let (old, new) = (
        old.get(..old.len() - shared).unwrap_or_default(),
        new.get(..new.len() - shared).unwrap_or_default(),
    );

    let mut text = format!("--- {name}\n+++ {name}\n");
    let diff = TextDiff::configure().timeout(TIME).diff_lines(old, new);
    for hunk in diff.grouped_ops(CONTEXT) {
        write_hunk(&mut text, &diff, &hunk, line);
        if text.len() > MAX_BYTES {
            let end = text.floor_char_boundary(MAX_BYTES);
            text.truncate(end);
            text.push_str("\n[diff cut here]\n");
            break;
        }
    }
    text
}

fn write_hunk(text: &mut String, diff: &TextDiff<'_, '_, str>, ops: &[DiffOp], line: usize) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let range = |start: usize, end: usize| {
        // An empty range names the line before it.
        let start_line = line + start + usize::from(end > start);
        format!("{start_line},{}", end - start)
    };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    // Writing to a string does not fail.
    let _ = writeln!(text, "@@ -{old} +{new} @@");
    for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        text.push(sign);
        text.push_str(change.value());
        if change.missing_newline() {
            text.push_str("\n\\ No newline at end of file\n");
        }
        if text.len() > MAX_BYTES {
            return;
        }
    }
}

/// Bytes of whole lines at the start that both share, less the context.
fn common_start(old: &str, new: &str) -> usize {
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let same = old.as_bytes().get(..same).unwrap_or_default();
    // The last line found may go on differently; the context lies before it.
    nth_last_newline(same, CONTEXT + 1).map_or(0, |at| at + 1)
}

/// Bytes of whole lines at the end that both share, less the context.
fn common_end(old: &str, new: &str) -> usize {
    let same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    let same = old.as_bytes().get(old.len() - same..).unwrap_or_default();
    let mut newlines = same.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    newlines.nth(CONTEXT).map_or(0, |(at, _)| same.len() - at - 1)
}

fn nth_last_newline(bytes: &[u8], nth: usize) -> Option<usize> {
    bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(nth - 1).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(old: &str, new: &str) -> String {
        let diff = TextDiff::from_lines(old, new);
        diff.unified_diff().context_radius(CONTEXT).header("f", "f").to_string()
    }

    #[test]
    fn a_change_in_the_middle_has_its_own_line_numbers() {
        let old: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 500\n", "line five hundred\nand a half\n");
        assert_eq!(unified("f", &old, &new), whole(&old, &new));
        assert!(unified("f", &old, &new).contains("@@ -497,7 +497,8 @@"));
    }

    #[test]
    fn the_edges_of_a_file_are_shown_as_diff_shows_them() {
        let diff = unified("f", "", "a\nb");
        assert_eq!(diff, "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
        assert_eq!(unified("f", "same", "same"), "");
    }

    #[test]
    fn a_large_diff_is_cut() {
        let diff = unified("f", "", &"some line\n".repeat(100_000));
        assert!(diff.len() < MAX_BYTES + 100 && diff.ends_with("[diff cut here]\n"));
    }

    proptest! {
        #[test]
        fn counts_in_headers_are_those_of_the_lines(old in "([ab]{0,2}\n){0,30}", new in "([ab]{0,2}\n){0,30}") {
            let diff = unified("f", &old, &new);
            let removed = diff.lines().skip(2).filter(|line| line.starts_with('-')).count();
            let added = diff.lines().skip(2).filter(|line| line.starts_with('+')).count();
            prop_assert_eq!(old.lines().count() + added, new.lines().count() + removed);
        }
    }
}
