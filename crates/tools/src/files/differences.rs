//! Texts compared loosely, and in what two of them differ.

use std::borrow::Cow;

/// A line as it is when white space, case and the form of quotes and dashes do not count.
#[derive(Debug)]
pub(super) struct Loose(String);

impl Loose {
    pub(super) fn new(line: &str) -> Self {
        Self(loose(line).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `line` is this one.
    pub(super) fn equals(&self, line: &str, work: &mut usize) -> bool {
        let (same, whole) = self.shared(loose(line), self.0.chars(), work);
        same && whole
    }

    /// Whether `line` begins with this one.
    pub(super) fn begins(&self, line: &str, work: &mut usize) -> bool {
        self.shared(loose(line), self.0.chars(), work).0
    }

    /// Whether `line` ends with this one.
    pub(super) fn ends(&self, line: &str, work: &mut usize) -> bool {
        self.shared(loose(line).rev(), self.0.chars().rev(), work).0
    }

    /// Whether this one is a part of `line`.
    pub(super) fn is_in(&self, line: &str, work: &mut usize) -> bool {
        *work = work.saturating_sub(line.len() + 1);
        *work > 0 && line.len() >= self.0.len() / 4 && loose(line).collect::<String>().contains(&self.0)
    }

    /// Whether `line` has all of `wanted` at its beginning, and nothing else.
    fn shared(
        &self,
        mut line: impl Iterator<Item = char>,
        wanted: impl Iterator<Item = char>,
        work: &mut usize,
    ) -> (bool, bool) {
        for character in wanted {
            *work = work.saturating_sub(1);
            if line.next() != Some(character) {
                return (false, false);
            }
        }
        (*work > 0, line.next().is_none())
    }
}

fn loose(line: &str) -> impl DoubleEndedIterator<Item = char> {
    line.chars().filter(|c| !is_space(*c)).map(|c| small(plain(c)))
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200B}' | '\u{FEFF}' | '\u{2060}')
}

/// The character that a keyboard has for a typographic one.
fn plain(c: char) -> char {
    match c {
        '‘' | '’' | '‚' | '‛' | '′' | '´' | '`' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        _ => c,
    }
}

fn small(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// A way to make texts alike, and what they differ in when they are not alike without it.
struct Way {
    alike: fn(&str) -> Cow<'_, str>,
    reason: &'static str,
}

/// In what `found`, a few lines of a file, differs from `wanted`, which is all or a part of it when compared
/// loosely. Each reason is one without which the texts would not be alike.
pub(super) fn differences(found: &str, wanted: &str) -> Vec<&'static str> {
    let ways = ways(found, wanted);
    let alike = |left_out: usize| {
        let all = |text: &str| {
            let used = ways.iter().enumerate().filter(|(number, _)| *number != left_out).map(|(_, way)| way);
            used.fold(text.to_owned(), |text, way| (way.alike)(&text).into_owned())
        };
        all(found).contains(all(wanted).trim_end_matches('\n'))
    };
    let needed = ways.iter().enumerate().filter(|(number, _)| !alike(*number));
    needed.map(|(_, way)| way.reason).collect()
}

/// The ways in the order in which they are told; space is taken as narrowly as it explains the difference.
fn ways(found: &str, wanted: &str) -> Vec<Way> {
    let rest = |text: &str| without_case(&plain_marks(&without_blank_lines(text))).into_owned();
    let (found, wanted) = (rest(found), rest(wanted));
    let enough =
        |alike: fn(&str) -> Cow<'_, str>| alike(&found).contains(alike(&wanted).trim_end_matches('\n'));
    let tabs = found.lines().any(|line| line.starts_with('\t'));
    let (alike, reason): (fn(&str) -> Cow<'_, str>, _) = if enough(without_ends) {
        (without_ends, "white space at line ends")
    } else if enough(without_indentation) {
        let named = if tabs { "indentation (the file has tabs)" } else { "indentation" };
        (without_indentation, named)
    } else {
        (without_space, "white space")
    };
    vec![
        Way { alike: without_blank_lines, reason: "blank lines" },
        Way { alike, reason },
        Way { alike: plain_marks, reason: "the form of quotes and dashes" },
        Way { alike: without_case, reason: "upper and lower case" },
    ]
}

fn by_line(text: &str, change: fn(&str) -> &str) -> Cow<'_, str> {
    Cow::Owned(text.lines().map(change).collect::<Vec<_>>().join("\n"))
}

fn without_blank_lines(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Cow::Owned(lines.join("\n"))
}

fn without_ends(text: &str) -> Cow<'_, str> {
    by_line(text, str::trim_end)
}

fn without_indentation(text: &str) -> Cow<'_, str> {
    by_line(text, str::trim)
}

fn without_space(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.chars().filter(|c| *c == '\n' || !is_space(*c)).collect())
}

fn plain_marks(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.chars().map(plain).collect())
}

fn without_case(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.chars().map(small).collect())
}
