//! Why a text is not found in a file: the place that comes closest, and in what it differs.

use std::borrow::Cow;
use std::fmt::Write;

use super::differences::{Loose, differences};
use super::matching::to_lf;

/// Characters of the file that are looked at for each way of looking.
const MAX_WORK: usize = 16 * 1024 * 1024;
/// Lines of the file that are compared by likeness.
const MAX_FILE_LINES: usize = 50_000;
/// Lines of the wanted text that are compared by likeness.
const MAX_WANTED_LINES: usize = 8;
/// How alike a place must be, from 0 to 1, to be worth showing.
const WORTH_SHOWING: f64 = 0.6;
/// Lines that are shown.
const MAX_SHOWN_LINES: usize = 12;
/// The longest line that is shown, in bytes.
const MAX_SHOWN: usize = 300;

/// Shows the place in `text` that is `wanted` but for its form, with the numbers of its lines and the reason why it is
/// not the same. Takes bounded time.
pub(super) fn same_but_for_form(text: &str, wanted: &str) -> Option<String> {
    let wanted = to_lf(wanted);
    for (variant, reason) in variants(&wanted) {
        let Some(place) = loose_place(text, &variant) else { continue };
        let found: Vec<&str> = text.lines().skip(place.first).take(place.count).collect();
        let mut reasons: Vec<&str> = reason.into_iter().collect();
        reasons.extend(differences(&found.join("\n"), &variant));
        let why = match reasons.split_last() {
            None => continue,
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        };
        return Some(show(&found, place.first, &format!("differs only in {why}")));
    }
    None
}

/// Other readings of a text, each with what would be wrong about it then.
fn variants(wanted: &str) -> Vec<(Cow<'_, str>, Option<&'static str>)> {
    if wanted.trim().is_empty() {
        return Vec::new();
    }
    let mut variants = vec![(Cow::Borrowed(wanted), None)];
    if let Some(bare) = without_numbers(wanted) {
        variants.push((
            Cow::Owned(bare),
            Some("the line numbers of Read's output, which are no part of the file"),
        ));
    }
    let unescaped = unescaped(wanted);
    if unescaped != wanted {
        variants.push((
            Cow::Owned(unescaped),
            Some("escapes: `\\n`, `\\t` or `\\\"` is written out in oldString"),
        ));
    }
    let lines = wanted.trim_end_matches('\n');
    if lines.contains('\n') {
        let escaped = lines.replace('\n', "\\n");
        variants.push((Cow::Owned(escaped), Some("line breaks, which are written `\\n` in the file")));
    }
    variants
}

/// The lines of `text` without the `number<TAB>` that each begins with.
fn without_numbers(text: &str) -> Option<String> {
    let bare = text.lines().map(|line| {
        let numbered = line.trim_start();
        let rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = rest.len() < numbered.len();
        match rest.strip_prefix(['\t', '→', '|']).filter(|_| has_number) {
            Some(rest) => Some(rest),
            None if line.is_empty() => Some(""),
            None => None,
        }
    });
    let bare: Vec<&str> = bare.collect::<Option<_>>()?;
    bare.iter().any(|line| !line.is_empty()).then(|| bare.join("\n"))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = match characters.peek() {
            Some('n') if character == '\\' => '\n',
            Some('t') if character == '\\' => '\t',
            Some(quote @ ('"' | '\'')) if character == '\\' => *quote,
            _ => {
                plain.push(character);
                continue;
            }
        };
        plain.push(meant);
        characters.next();
    }
    plain
}

/// Lines of a file, counted from 0.
struct Place {
    first: usize,
    count: usize,
}

/// The first place where `wanted` stands when white space, blank lines, case and the form of quotes and dashes do
/// not count.
fn loose_place(text: &str, wanted: &str) -> Option<Place> {
    let wanted: Vec<Loose> = wanted.lines().map(Loose::new).filter(|line| !line.is_empty()).collect();
    let (first, others) = wanted.split_first()?;
    let mut work = MAX_WORK;
    let mut rest = text.lines().enumerate();
    while let Some((number, line)) = rest.next() {
        let begins =
            if others.is_empty() { first.is_in(line, &mut work) } else { first.ends(line, &mut work) };
        let count = if begins { follow(rest.clone().map(|(_, line)| line), others, &mut work) } else { None };
        if let Some(count) = count {
            return Some(Place { first: number, count: count + 1 });
        }
        if work == 0 {
            return None;
        }
    }
    None
}

/// How many of `lines` it takes until all `wanted` ones have come by.
fn follow<'a>(lines: impl Iterator<Item = &'a str>, wanted: &[Loose], work: &mut usize) -> Option<usize> {
    let mut wanted = wanted.iter();
    let Some(mut next) = wanted.next() else { return Some(0) };
    for (number, line) in lines.enumerate() {
        *work = work.saturating_sub(1);
        if line.trim().is_empty() {
            if *work == 0 {
                return None;
            }
            continue;
        }
        let Some(after) = wanted.next() else { return next.begins(line, work).then_some(number + 1) };
        if !next.equals(line, work) {
            return None;
        }
        next = after;
    }
    None
}

/// Shows the place that is most like `wanted`, though other words stand there. Takes bounded time.
pub(super) fn most_alike(text: &str, wanted: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(MAX_FILE_LINES).collect();
    let bare: Vec<String> = lines.iter().map(|line| without_space(line)).collect();
    let wanted: Vec<String> =
        wanted.lines().map(without_space).skip_while(String::is_empty).take(MAX_WANTED_LINES).collect();
    // The longest line says most; it decides whether a place is looked at.
    let (telling, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    if longest.is_empty() {
        return None;
    }
    let mut best = (WORTH_SHOWING, None);
    for (start, line) in bare.iter().skip(telling).enumerate() {
        if likeness(line, longest) < WORTH_SHOWING {
            continue;
        }
        let place = bare.get(start..).unwrap_or_default();
        // A long line says more than a closing bracket.
        let weights = wanted.iter().map(|line| as_ratio(line.len() + 1));
        let pairs = wanted.iter().zip(place).map(|(wanted, line)| likeness(line, wanted));
        let sum: f64 = weights.clone().zip(pairs).map(|(weight, likeness)| weight * likeness).sum();
        let score = sum / weights.sum::<f64>();
        if score > best.0 {
            best = (score, Some(start));
        }
    }
    let start = best.1?;
    let found: Vec<&str> = lines.into_iter().skip(start).take(wanted.len()).collect();
    Some(show(&found, start, "is the closest"))
}

fn show(lines: &[&str], first: usize, why: &str) -> String {
    let range = match lines.len() {
        0 | 1 => format!("line {}", first + 1),
        count => format!("the text of lines {}-{}", first + 1, first + count),
    };
    let mut shown = format!("{range} {why}:");
    for (number, line) in lines.iter().enumerate().take(MAX_SHOWN_LINES) {
        let line = line.get(..line.floor_char_boundary(MAX_SHOWN)).unwrap_or(line);
        // Writing to a string does not fail.
        let _ = write!(shown, "\n{}\t{line}", first + number + 1);
    }
    if lines.len() > MAX_SHOWN_LINES {
        shown.push_str("\n...");
    }
    shown
}

/// The share of the longer line that both have in common at their beginning and end.
fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let rest = a.iter().rev().zip(b.iter().rev()).take(a.len().min(b.len()) - start);
    let end = rest.take_while(|(a, b)| a == b).count();
    as_ratio(start + end) / as_ratio(longer)
}

#[expect(clippy::cast_precision_loss, reason = "counts of characters in a line")]
fn as_ratio(count: usize) -> f64 {
    count as f64
}

fn without_space(line: &str) -> String {
    line.chars().filter(|character| !character.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "fn main() {\n\tlet total = add(1, 2);\n\n\tprintln!(\"it’s {total} – done\\n\");\n}\n";

    fn place(wanted: &str) -> String {
        same_but_for_form(TEXT, wanted).or_else(|| most_alike(TEXT, wanted)).unwrap_or_default()
    }

    #[test]
    fn the_reason_is_named() {
        let line_2 = "2\t\tlet total = add(1, 2);";
        let line_4 = "4\t\tprintln!(\"it’s {total} – done\\n\");";
        for (wanted, expected) in [
            (
                "    let total = add(1, 2);",
                format!("line 2 differs only in indentation (the file has tabs):\n{line_2}"),
            ),
            ("let total = add(1,2);", format!("line 2 differs only in white space:\n{line_2}")),
            (
                "let total = add(1, 2); \n",
                format!("line 2 differs only in white space at line ends:\n{line_2}"),
            ),
            ("Let total = ADD(1, 2);", format!("line 2 differs only in upper and lower case:\n{line_2}")),
            (
                "it's {total} - done",
                format!("line 4 differs only in the form of quotes and dashes:\n{line_4}"),
            ),
            (
                "\tlet total = add(1, 2);\n\tprintln!(\"it’s",
                format!("the text of lines 2-4 differs only in blank lines:\n{line_2}\n3\t\n{line_4}"),
            ),
            (
                "     2\t\tlet total = add(1, 2);",
                format!(
                    "line 2 differs only in the line numbers of Read's output, which are no part of the file:\n{line_2}"
                ),
            ),
            (
                "add(1, 2);\\n\\n\\tprintln!",
                format!(
                    "the text of lines 2-4 differs only in escapes: `\\n`, `\\t` or `\\\"` is written out in \
                     oldString:\n{line_2}\n3\t\n{line_4}"
                ),
            ),
            (
                "done\n\");",
                format!("line 4 differs only in line breaks, which are written `\\n` in the file:\n{line_4}"),
            ),
            ("let totel = add(1, 2);", format!("line 2 is the closest:\n{line_2}")),
            ("something else entirely", String::new()),
            ("\n \n", String::new()),
        ] {
            assert_eq!(place(wanted), expected, "{wanted:?}");
        }
    }

    #[test]
    fn several_reasons_are_named_together() {
        let found = place("Let total = add(1,2);\nprintln!(\"it's");
        let reasons =
            "blank lines, white space, the form of quotes and dashes and upper and lower case:\n2\t";
        assert!(found.contains(reasons), "{found}");
        let found = place("x\nlet total = add(3, 2);\n");
        assert!(found.starts_with("the text of lines 1-2 is the closest:\n1\tfn main() {\n2\t"), "{found}");
    }

    #[test]
    fn a_file_of_equal_lines_is_not_compared_for_ever() {
        let text = "aaaa aaaa\n".repeat(2_000_000);
        let wanted = "aaaaaaaa\n".repeat(1_000) + "b";
        assert_eq!(same_but_for_form(&text, &wanted), None);
    }
}
