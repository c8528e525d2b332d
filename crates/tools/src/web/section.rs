//! The part of a long text that one result shows.

use crate::failure::Failure;

/// Characters of one part.
const MAX_CHARS: usize = 100_000;

/// A part of a text, with a line about the rest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) text: String,
    /// Where the next part begins, in characters; `None` at the end.
    pub(super) next: Option<usize>,
}

/// The part of `text` from the character `offset` on.
pub(super) fn section(text: &str, offset: usize) -> Result<Section, Failure> {
    let Some(rest) = from(text, offset) else {
        let message = format!(
            "the text of the page has {} characters; there is none at {offset}",
            text.chars().count()
        );
        return Err(Failure::new("invalid_argument", message));
    };
    let Some(behind) = from(rest, MAX_CHARS).filter(|behind| !behind.is_empty()) else {
        return Ok(Section { text: rest.to_owned(), next: None });
    };
    let shown = rest.strip_suffix(behind).unwrap_or(rest);
    let next = offset + MAX_CHARS;
    let all = next + behind.chars().count();
    let text = format!("{shown}\n[text cut here, at {next} of {all} characters; offset {next} goes on]");
    Ok(Section { text, next: Some(next) })
}

/// What follows the first `count` characters; `None` when there are fewer.
fn from(text: &str, count: usize) -> Option<&str> {
    let mut letters = text.chars();
    if count > 0 {
        letters.nth(count - 1)?;
    }
    Some(letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_read_part_by_part() {
        let text = format!("{}{}end", "é".repeat(MAX_CHARS), "x".repeat(MAX_CHARS));
        let first = section(&text, 0).unwrap();
        let told = "\n[text cut here, at 100000 of 200003 characters; offset 100000 goes on]";
        assert_eq!((first.text, first.next), ("é".repeat(MAX_CHARS) + told, Some(MAX_CHARS)));
        let last = section(&text, 2 * MAX_CHARS).unwrap();
        assert_eq!(last, Section { text: "end".to_owned(), next: None });
        assert_eq!(section(&text, 2 * MAX_CHARS + 3).unwrap().text, "");
        assert!(section(&text, 2 * MAX_CHARS + 4).unwrap_err().to_string().contains("200003"));
        let whole = "x".repeat(MAX_CHARS);
        assert_eq!(section(&whole, 0).unwrap(), Section { text: whole.clone(), next: None });
    }
}
