//! The lines around changes, numbered as in the changed file.

use std::fmt::Write;

use super::matching::Plan;

/// Unchanged lines shown on each side.
const CONTEXT: usize = 3;
/// Changes shown.
const MAX_CHANGES: usize = 5;
/// Lines of one change shown from its beginning and from its end.
const MAX_HALF: usize = 8;
/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 300;

/// First line of each change in the changed text, from 1.
pub(super) fn start_lines(old_text: &str, plan: &Plan) -> Vec<usize> {
    let added = plan.replacement.matches('\n').count();
    let (mut lines, mut from) = (1, 0);
    let mut starts = Vec::with_capacity(plan.places.len());
    for place in &plan.places {
        lines += newlines(old_text, from..place.start);
        starts.push(lines);
        lines += added;
        from = place.end;
    }
    starts
}

/// Shows the changes that begin at `starts` in `new_text`; long ones lose their middle.
pub(super) fn around_changes(new_text: &str, starts: &[usize], plan: &Plan) -> String {
    let height = plan.replacement.matches('\n').count();
    let mut lines = new_text.lines().enumerate().map(|(at, line)| (at + 1, line)).peekable();
    let mut shown = String::new();
    let mut last_shown = 0;
    for start in starts.iter().take(MAX_CHANGES) {
        let (first, last) = (start.saturating_sub(CONTEXT), start + height + CONTEXT);
        let skipped = (start + MAX_HALF, (start + height + 1).saturating_sub(MAX_HALF));
        while let Some((number, line)) = lines.next_if(|(number, _)| *number <= last) {
            if number < first || (skipped.0 <= number && number < skipped.1) {
                continue;
            }
            if last_shown + 1 < number && last_shown > 0 {
                shown.push_str("...\n");
            }
            last_shown = number;
            let kept = line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or(line);
            let mark = if kept.len() < line.len() { " [line cut]" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(shown, "{number}\t{kept}{mark}");
        }
    }
    if starts.len() > MAX_CHANGES {
        let _ = writeln!(shown, "[{} more changes not shown]", starts.len() - MAX_CHANGES);
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    shown
}

fn newlines(text: &str, range: std::ops::Range<usize>) -> usize {
    text.get(range).unwrap_or_default().matches('\n').count()
}
