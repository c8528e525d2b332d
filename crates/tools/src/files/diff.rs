//! Unified diffs of a file before and after, in bounded time and size.

use std::fmt::Write;
use std::time::{Duration, Instant};

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};

use super::changes::Change;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The longest diff, in bytes; what follows is cut with a note.
const MAX_BYTES: usize = 32 * 1024;
/// After this the diff becomes coarser instead of minimal.
const TIME: Duration = Duration::from_millis(200);
/// Stretches with more bytes, old and new together, are not compared line by line.
const MAX_COMPARED: usize = 4 * 1024 * 1024;
/// Start lines that are told.
const MAX_STARTS: usize = 1_000;

/// What changed in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Diff {
    /// As `diff -u` writes it; empty when nothing changed.
    pub(super) text: String,
    /// First line of each changed stretch in the new file, from 1; at most 1,000.
    pub(super) start_lines: Vec<usize>,
    /// Whether `text` is cut.
    pub(super) cut: bool,
}

/// The change from `old` to `new` as a unified diff of the file `name`. Only what `changes` lead through, with its
/// context, is compared: an edit of a large file is cheap.
pub(super) fn unified(name: &str, old: &str, new: &str, changes: &[Change]) -> Diff {
    let mut writer = Writer {
        diff: Diff::default(),
        deadline: Instant::now() + TIME,
        old,
        new,
        old_line: 0,
        new_line: 0,
        counted: 0,
    };
    let mut rest = changes;
    while let Some((first, more)) = rest.split_first() {
        let mut stretch = first.clone();
        let near = more.iter().take_while(|next| {
            let near = is_near(old, stretch.old.end, next.old.start);
            if near {
                (stretch.old.end, stretch.new.end) = (next.old.end, next.new.end);
            }
            near
        });
        let taken = near.count();
        rest = more.get(taken..).unwrap_or_default();
        if writer.diff.cut && writer.diff.start_lines.len() >= MAX_STARTS {
            break;
        }
        writer.stretch(&stretch);
    }
    let mut diff = writer.diff;
    diff.start_lines.truncate(MAX_STARTS);
    if !diff.text.is_empty() {
        diff.text.insert_str(0, &format!("--- {name}\n+++ {name}\n"));
    }
    if diff.cut {
        let end = diff.text.floor_char_boundary(MAX_BYTES);
        diff.text.truncate(end);
        diff.text.push_str("\n[diff cut here]\n");
    }
    diff
}

/// Whether the contexts of two changes touch.
fn is_near(old: &str, end: usize, start: usize) -> bool {
    let between = old.as_bytes().get(end..start).unwrap_or_default();
    between.iter().filter(|byte| **byte == b'\n').take(2 * CONTEXT + 2).count() <= 2 * CONTEXT + 1
}

struct Writer<'a> {
    diff: Diff,
    deadline: Instant,
    old: &'a str,
    new: &'a str,
    /// Lines of each text before `counted`.
    old_line: usize,
    new_line: usize,
    /// Byte of the old text up to which lines are counted.
    counted: usize,
}

impl Writer<'_> {
    /// Writes the hunks of a stretch that has no other change near.
    fn stretch(&mut self, stretch: &Change) {
        let before = before_context(self.old, stretch.old.start);
        let after = after_context(self.old, stretch.old.end);
        let unchanged = newlines(self.old, self.counted, before);
        self.old_line += unchanged;
        self.new_line += unchanged;
        let old = self.old.get(before..after).unwrap_or_default();
        let new_start = stretch.new.start - (stretch.old.start - before);
        let new_end = stretch.new.end + (after - stretch.old.end);
        let new = self.new.get(new_start..new_end).unwrap_or_default();
        if self.diff.cut {
            let first = newlines(self.new, new_start, stretch.new.start);
            self.diff.start_lines.push(self.new_line + first + 1);
        } else if old.len() + new.len() > MAX_COMPARED {
            let first = newlines(self.new, new_start, stretch.new.start);
            self.diff.start_lines.push(self.new_line + first + 1);
            self.block(old, new);
        } else {
            self.hunks(old, new);
        }
        self.old_line += newlines(old, 0, old.len());
        self.new_line += newlines(new, 0, new.len());
        self.counted = after;
    }

    fn hunks(&mut self, old: &str, new: &str) {
        let diff = TextDiff::configure().deadline(self.deadline).diff_lines(old, new);
        let hunks = diff.grouped_ops(CONTEXT);
        let mut last_equal = true;
        for op in hunks.iter().flatten() {
            let equal = op.tag() == DiffTag::Equal;
            if !equal && last_equal {
                self.diff.start_lines.push(self.new_line + op.new_range().start + 1);
            }
            last_equal = equal;
        }
        for hunk in hunks {
            self.hunk(&diff, &hunk);
            if self.is_full() {
                return;
            }
        }
    }

    fn hunk(&mut self, diff: &TextDiff<'_, '_, str>, ops: &[DiffOp]) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let (old, new) =
            (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        self.header((old.start, old.len()), (new.start, new.len()));
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            self.line(sign, change.value());
            if self.is_full() {
                return;
            }
        }
    }

    /// One hunk that takes all of `old` away and puts `new` there.
    fn block(&mut self, old: &str, new: &str) {
        let lines = |text: &str| {
            newlines(text, 0, text.len()) + usize::from(!text.is_empty() && !text.ends_with('\n'))
        };
        self.header((0, lines(old)), (0, lines(new)));
        let removed = old.split_inclusive('\n').map(|line| ('-', line));
        for (sign, line) in removed.chain(new.split_inclusive('\n').map(|line| ('+', line))) {
            self.line(sign, line);
            if self.is_full() {
                return;
            }
        }
    }

    /// First line, from 0, and number of lines in the stretch.
    fn header(&mut self, old: (usize, usize), new: (usize, usize)) {
        // An empty range names the line before it.
        let range = |line: usize, (start, count): (usize, usize)| {
            format!("{},{count}", line + start + usize::from(count > 0))
        };
        let (old, new) = (range(self.old_line, old), range(self.new_line, new));
        // Writing to a string does not fail.
        let _ = writeln!(self.diff.text, "@@ -{old} +{new} @@");
    }

    fn line(&mut self, sign: char, line: &str) {
        let kept = line.get(..line.floor_char_boundary(MAX_BYTES)).unwrap_or(line);
        self.diff.text.push(sign);
        self.diff.text.push_str(kept);
        if !line.ends_with('\n') {
            self.diff.text.push_str("\n\\ No newline at end of file\n");
        }
    }

    fn is_full(&mut self) -> bool {
        self.diff.cut |= self.diff.text.len() > MAX_BYTES;
        self.diff.cut
    }
}

/// Where the line of `at` begins, less the context.
fn before_context(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let newlines = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(at, _)| at + 1).nth(CONTEXT).unwrap_or(0)
}

/// Where the line of `at` ends, with the context.
fn after_context(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    let newlines = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(end, _)| at + end + 1).nth(CONTEXT).unwrap_or(text.len())
}

/// How many lines end in `text` between two bytes.
pub(super) fn newlines(text: &str, from: usize, to: usize) -> usize {
    text.as_bytes().get(from..to).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::changes::difference;

    fn diff(old: &str, new: &str) -> Diff {
        unified("f", old, new, &difference(old, new))
    }

    fn whole(old: &str, new: &str) -> String {
        let diff = TextDiff::from_lines(old, new);
        diff.unified_diff().context_radius(CONTEXT).header("f", "f").to_string()
    }

    /// The lines `1` to `1000`, some of them exchanged, and the changes.
    fn exchanged(puts: &[(usize, &str)]) -> (String, String, Vec<Change>) {
        let (mut old, mut new, mut changes) = (String::new(), String::new(), Vec::new());
        for number in 1..=1000 {
            let line = format!("line {number}\n");
            let put = puts.iter().find(|(line, _)| *line == number).map_or(line.as_str(), |(_, put)| put);
            if put != line {
                let (from, to) = (old.len(), new.len());
                changes.push(Change { old: from..from + line.len(), new: to..to + put.len() });
            }
            old.push_str(&line);
            new.push_str(put);
        }
        (old, new, changes)
    }

    #[test]
    fn changes_far_apart_have_their_own_hunks_and_lines() {
        let (old, new, changes) = exchanged(&[
            (1, ""),
            (500, "five hundred\nand a half\n"),
            (507, "x\n"),
            (515, "y\n"),
            (1000, "end"),
        ]);
        let made = unified("f", &old, &new, &changes);
        assert_eq!(made.text, whole(&old, &new));
        assert_eq!(made.start_lines, [1, 499, 507, 515, 1000]);
        assert!(made.text.contains("@@ -497,14 +496,15 @@") && !made.cut, "{}", made.text);
    }

    #[test]
    fn the_edges_of_a_file_are_shown_as_diff_shows_them() {
        let made = diff("", "a\nb");
        assert_eq!(made.text, "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
        assert_eq!(made.start_lines, [1]);
        assert_eq!(diff("same", "same"), Diff::default());
    }

    #[test]
    fn a_large_diff_is_cut_and_still_tells_every_start() {
        let lines = "some line\n".repeat(300_000);
        for made in [diff("", &lines), diff(&lines.replace('e', "i"), &lines)] {
            assert!(made.cut && made.text.len() < MAX_BYTES + 100, "{}", made.text.len());
            assert!(made.text.ends_with("[diff cut here]\n"));
            assert_eq!(made.start_lines, [1]);
        }
        let long = "x".repeat(20_000) + "\n";
        let (old, new, changes) = exchanged(&[(1, &*long), (100, &*long), (200, "x\n"), (300, "x\n")]);
        let made = unified("f", &old, &new, &changes);
        assert!(made.cut);
        assert_eq!(made.start_lines, [1, 100, 200, 300]);
    }

    proptest! {
        #[test]
        fn it_is_the_diff_that_others_make(old in "([ab]{0,2}\n){0,30}", new in "([ab]{0,2}\n){0,30}") {
            let made = diff(&old, &new);
            let removed = made.text.lines().skip(2).filter(|line| line.starts_with('-')).count();
            let added = made.text.lines().skip(2).filter(|line| line.starts_with('+')).count();
            prop_assert_eq!(old.lines().count() + added, new.lines().count() + removed);
            let hunks = made.text.lines().filter(|line| line.starts_with("@@")).count();
            prop_assert!(made.start_lines.len() >= hunks);
        }
    }
}
