//! Replacements applied to a text, one after the other, all or none.

use super::changes::{Change, then};
use super::diff::newlines;
use super::edit_input::Replacement;
use super::matching::{Endings, MAX_PLACES, Matches, Plan, find, plan, to_lf};
use super::near_miss::{most_alike, same_but_for_form};
use super::seen::{MAX_BYTES, too_large};
use crate::failure::Failure;

/// Lines named when a text is ambiguous.
const MAX_NAMED_LINES: usize = 5;
/// With fewer bytes, a text that is there says nothing.
const MIN_TELLING: usize = 10;

/// A text after all replacements.
pub(super) struct Rewritten {
    /// Begins with the mark that was given.
    pub(super) content: String,
    /// From the text before to the one after, without marks.
    pub(super) changes: Vec<Change>,
    pub(super) replacements: usize,
}

/// Applies `edits` to `text`, the content of the file that is `shown` so; the result begins with `mark`.
///
/// # Errors
///
/// When one of them does not apply; it is named by its number when there are several.
pub(super) fn rewrite(
    shown: &str,
    mark: &str,
    text: &str,
    edits: &[Replacement],
) -> Result<Rewritten, Failure> {
    let mut made: Option<Rewritten> = None;
    for (number, edit) in edits.iter().enumerate() {
        let current = made.as_ref().map_or(text, |made| made.content.get(mark.len()..).unwrap_or_default());
        let plan = plan_of(shown, current, edit).map_err(|failure| match edits.len() {
            1 => failure,
            count => {
                let before =
                    if number > 0 && text.contains(&*edit.old_string) && !current.contains(&*edit.old_string)
                    {
                        "an edit before it changed its place: "
                    } else {
                        ""
                    };
                failure.after(&format!("nothing was changed: edit {} of {count}: {before}", number + 1))
            }
        })?;
        let (content, changes) = plan.apply(mark, current);
        let replacements = plan.count();
        made = Some(match made {
            None => Rewritten { content, changes, replacements },
            Some(before) => Rewritten {
                content,
                changes: then(&before.changes, &changes),
                replacements: before.replacements + replacements,
            },
        });
    }
    made.ok_or_else(|| Failure::new("invalid_argument", "there is no edit in the call"))
}

fn plan_of(shown: &str, text: &str, edit: &Replacement) -> Result<Plan, Failure> {
    if edit.old_string.is_empty() {
        let message = "oldString is empty; give the text to replace, or use Write to create or fill a file";
        return Err(Failure::new("invalid_argument", message));
    }
    if edit.old_string == edit.new_string {
        let message = "oldString and newString are the same; nothing to change";
        return Err(Failure::new("invalid_argument", message));
    }
    let has_lines = edit.old_string.contains('\n') || edit.new_string.contains('\n');
    let endings = if has_lines { Endings::of(text) } else { Endings::None };
    let matches = find(text, &edit.old_string, endings);
    let places = chosen(shown, text, edit, matches)?;
    let too_long = |length| too_large(&format!("{shown}, once edited,"), length);
    // Before anything is made that would not be used.
    let removed: usize = places.iter().map(|place| place.len()).sum();
    let added = to_lf(&edit.new_string).len().saturating_mul(places.len());
    let least = (text.len() - removed).saturating_add(added);
    if least > MAX_BYTES {
        return Err(too_long(least));
    }
    let plan = plan(text, places, &edit.new_string, endings);
    if !plan.changes(text) {
        let message = format!("only the line endings differ, and those of {shown} stay; nothing to change");
        return Err(Failure::new("invalid_argument", message));
    }
    match plan.new_length(text) {
        Some(length) if length <= MAX_BYTES => Ok(plan),
        length => Err(too_long(length.unwrap_or(usize::MAX))),
    }
}

/// The places to change: one, or all when all are wanted.
fn chosen(
    shown: &str,
    text: &str,
    edit: &Replacement,
    matches: Matches,
) -> Result<Vec<std::ops::Range<usize>>, Failure> {
    let Matches { mut places, too_many } = matches;
    match places.len() {
        0 => Err(no_match(shown, text, edit)),
        1 => Ok(places),
        _ if edit.replace_all.0 && too_many => {
            let message = format!(
                "oldString occurs more than {MAX_PLACES} times in {shown}; use a program through Bash"
            );
            Err(Failure::new("too_many", message))
        }
        _ if edit.replace_all.0 => {
            // Of two that overlap, the first is taken.
            let mut end = 0;
            places.retain(|place| {
                let free = place.start >= end;
                end = if free { place.end } else { end };
                free
            });
            Ok(places)
        }
        count => Err(ambiguous(shown, text, &places, if too_many { "more than " } else { "" }, count)),
    }
}

fn no_match(shown: &str, text: &str, edit: &Replacement) -> Failure {
    let Replacement { old_string: old, new_string: new, .. } = edit;
    let hint = same_but_for_form(text, old)
        .or_else(|| done_already(text, old, new))
        .or_else(|| most_alike(text, old));
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Failure::new("no_match", format!("oldString does not occur in {shown}{hint}"))
}

fn done_already(text: &str, old: &str, new: &str) -> Option<String> {
    // A short text, or a part of the old one, may be there for any reason.
    if new.trim().len() < MIN_TELLING || old.contains(new) {
        return None;
    }
    let line = newlines(text, 0, text.find(new)?) + 1;
    Some(format!("newString is there already, at line {line}"))
}

fn ambiguous(
    shown: &str,
    text: &str,
    places: &[std::ops::Range<usize>],
    more_than: &str,
    count: usize,
) -> Failure {
    let (mut line, mut counted) = (1, 0);
    let mut named = Vec::new();
    for place in places.iter().take(MAX_NAMED_LINES) {
        line += newlines(text, counted, place.start);
        counted = place.start;
        named.push(line.to_string());
    }
    let more = if count > MAX_NAMED_LINES { ", …" } else { "" };
    let message = format!(
        "oldString occurs {more_than}{count} times in {shown} (lines {}{more}); include more lines around the one you \
         mean, or set replaceAll",
        named.join(", ")
    );
    Failure::new("ambiguous", message)
}
