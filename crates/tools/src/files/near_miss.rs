//! The place in a file that comes closest to a text that is not there.

use std::fmt::Write;

/// Lines of the file that are compared.
const MAX_FILE_LINES: usize = 50_000;
/// Lines of the wanted text that are compared.
const MAX_WANTED_LINES: usize = 8;
/// How alike a place must be, from 0 to 1, to be worth showing.
const WORTH_SHOWING: f64 = 0.6;
/// The longest line that is shown, in bytes.
const MAX_SHOWN: usize = 300;

/// Shows the lines of `text` that are most like `wanted` when white space does not count.
pub(super) fn closest_place(text: &str, wanted: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(MAX_FILE_LINES).collect();
    let bare: Vec<String> = lines.iter().map(|line| without_space(line)).collect();
    let wanted: Vec<String> =
        wanted.lines().map(without_space).skip_while(String::is_empty).take(MAX_WANTED_LINES).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let mut best = (WORTH_SHOWING, None);
    for start in 0..bare.len() {
        let score = likeness_at(bare.get(start..).unwrap_or_default(), &wanted);
        if score > best.0 {
            best = (score, Some(start));
            if score >= 1.0 {
                break;
            }
        }
    }
    let (score, start) = (best.0, best.1?);
    let mut shown = String::new();
    for (number, line) in lines.iter().enumerate().skip(start).take(wanted.len()) {
        let line = line.get(..line.floor_char_boundary(MAX_SHOWN)).unwrap_or(line);
        // Writing to a string does not fail.
        let _ = write!(shown, "\n{}\t{line}", number + 1);
    }
    let why = if score >= 1.0 { "differs only in white space" } else { "is the closest" };
    Some(format!("line {} {why}:{shown}", start + 1))
}

/// Mean likeness of the first lines of `lines` to `wanted`; 0 when even the first is unlike.
fn likeness_at(lines: &[String], wanted: &[String]) -> f64 {
    let mut sum = 0.0;
    for (at, wanted_line) in wanted.iter().enumerate() {
        let likeness = lines.get(at).map_or(0.0, |line| likeness(line, wanted_line));
        if at == 0 && likeness < WORTH_SHOWING {
            return 0.0;
        }
        sum += likeness;
    }
    sum / as_ratio(wanted.len())
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

    const TEXT: &str = "fn main() {\n\tlet total = add(1, 2);\n\tprintln!(\"{total}\");\n}\n";

    #[test]
    fn white_space_is_named_as_the_difference() {
        let place = closest_place(TEXT, "    let total = add(1,2);\n    println!(\"{total}\");").unwrap();
        let expected =
            "line 2 differs only in white space:\n2\t\tlet total = add(1, 2);\n3\t\tprintln!(\"{total}\");";
        assert_eq!(place, expected);
    }

    #[test]
    fn a_misspelt_line_is_found_and_a_strange_one_is_not() {
        let place = closest_place(TEXT, "let totel = add(1, 2);").unwrap();
        assert!(place.starts_with("line 2 is the closest:\n2\t"), "{place}");
        assert_eq!(closest_place(TEXT, "something else entirely"), None);
        assert_eq!(closest_place(TEXT, "\n \n"), None);
    }
}
