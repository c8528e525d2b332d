//! Where a text occurs in a file, whatever line endings either of them uses, and what is put there.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::changes::Change;

/// Places found before the rest is only counted.
pub(super) const MAX_PLACES: usize = 2_000_000;

/// Where a text occurs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    /// In order, without overlaps when all are wanted; at most [`MAX_PLACES`].
    pub(super) places: Vec<Range<usize>>,
    /// More places were found than are kept.
    pub(super) too_many: bool,
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endings {
    /// There is one line only.
    None,
    Lf,
    Crlf,
    Mixed,
}

impl Endings {
    pub(super) fn of(text: &str) -> Self {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count();
        let crlf = if lines > 0 { text.matches("\r\n").count() } else { 0 };
        match (lines, crlf) {
            (0, _) => Self::None,
            (_, 0) => Self::Lf,
            (lines, crlf) if lines == crlf => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

/// Finds `old` in `text`, whose lines end as `endings` says. An LF in `old` stands for a CRLF, too, and a CRLF for an
/// LF where `text` has no CRLF.
///
/// Two places that overlap count as two, so that what seems unique is.
pub(super) fn find(text: &str, old: &str, endings: Endings) -> Matches {
    if !old.contains('\n') {
        return find_all(text, old);
    }
    match endings {
        Endings::None => Matches::default(),
        Endings::Lf => find_all(text, &to_lf(old)),
        Endings::Crlf => find_all(text, &to_crlf(old)),
        Endings::Mixed => {
            let exact = if old.contains("\r\n") { find_all(text, old) } else { Matches::default() };
            if exact.places.is_empty() { find_in_mixed(text, &to_lf(old)) } else { exact }
        }
    }
}

fn find_all(text: &str, old: &str) -> Matches {
    let Some(first) = text.find(old) else { return Matches::default() };
    let step = old.chars().next().map_or(1, char::len_utf8);
    let Some(second) = text.get(first + step..).and_then(|rest| rest.find(old)) else {
        let place = first..first + old.len();
        return Matches { places: Vec::from([place]), too_many: false };
    };
    let mut found = text.match_indices(old).map(|(at, found)| at..at + found.len());
    let mut places: Vec<_> = found.by_ref().take(MAX_PLACES).collect();
    if places.len() == 1 {
        let second = first + step + second;
        places.push(second..second + old.len());
    }
    Matches { places, too_many: found.next().is_some() }
}

/// Finds `old`, whose lines end with LF, where the lines of `text` end now so, now so.
fn find_in_mixed(text: &str, old: &str) -> Matches {
    let plain = to_lf(text);
    // Where in `plain` a line end was longer.
    let mut longer = Vec::new();
    longer.extend(text.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before));
    let place = |at: usize| at + longer.partition_point(|end| *end < at);
    let mut found = find_all(&plain, old);
    for range in &mut found.places {
        *range = place(range.start)..place(range.end);
    }
    found
}

/// The places of a replacement, each with the text that is put there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    places: Vec<(Range<usize>, usize)>,
    texts: Vec<String>,
}

/// Puts `new` at all `places` of `text`, its line ends as those of the lines that are replaced.
pub(super) fn plan(text: &str, places: Vec<Range<usize>>, new: &str, endings: Endings) -> Plan {
    let lines_alike = match endings {
        _ if !new.contains('\n') => Some(Cow::Borrowed(new)),
        Endings::None => Some(Cow::Borrowed(new)),
        Endings::Lf => Some(to_lf(new)),
        Endings::Crlf => Some(Cow::Owned(to_crlf(new))),
        Endings::Mixed => None,
    };
    if let Some(put) = lines_alike {
        let places = places.into_iter().map(|place| (place, 0)).collect();
        return Plan { places, texts: vec![put.into_owned()] };
    }
    let (mut texts, mut known) = (Vec::new(), HashMap::new());
    let lines: Vec<&str> = new.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let mut after = EndsAfter { text, next: None, last: None };
    let mut with_text = |place: Range<usize>| {
        let put = with_ends_of(&lines, text, &place, &mut after);
        let number = *known.entry(put).or_insert_with_key(|put: &String| {
            texts.push(put.clone());
            texts.len() - 1
        });
        (place, number)
    };
    let places = places.into_iter().map(&mut with_text).collect();
    Plan { places, texts }
}

/// `lines` with the line ends of the text at `place`, one after the other; further ones are like the last.
fn with_ends_of(lines: &[&str], text: &str, place: &Range<usize>, after: &mut EndsAfter<'_>) -> String {
    let replaced = text.get(place.clone()).unwrap_or_default();
    let mut ends = line_ends(replaced);
    // Without any, the end of the line that the place is on, or of the one before.
    let mut last = ends.next().unwrap_or_else(|| after.of_line_with(place.end));
    let mut put = String::new();
    for (number, line) in lines.iter().enumerate() {
        put.push_str(line);
        if number + 1 < lines.len() {
            put.push_str(last);
            last = ends.next().unwrap_or(last);
        }
    }
    put
}

/// Tells how lines end for places that come in order, looking at no part of the text twice.
struct EndsAfter<'t> {
    text: &'t str,
    /// The line end behind the place before; behind the last one, the length of the text.
    next: Option<usize>,
    /// The last line end of the text.
    last: Option<&'static str>,
}

impl EndsAfter<'_> {
    /// How the line ends that `at` is on, or, where it is the last one, the line before it.
    fn of_line_with(&mut self, at: usize) -> &'static str {
        let next = self.next.filter(|next| *next >= at).unwrap_or_else(|| {
            let rest = self.text.get(at..).unwrap_or_default();
            rest.find('\n').map_or(self.text.len(), |found| at + found)
        });
        self.next = Some(next);
        if next < self.text.len() {
            return end_at(self.text, next);
        }
        let text = self.text;
        self.last.get_or_insert_with(|| text.rfind('\n').map_or("\n", |at| end_at(text, at)))
    }
}

fn line_ends(text: &str) -> impl Iterator<Item = &'static str> {
    text.match_indices('\n').map(move |(at, _)| end_at(text, at))
}

fn end_at(text: &str, newline: usize) -> &'static str {
    if text.get(..newline).is_some_and(|before| before.ends_with('\r')) { "\r\n" } else { "\n" }
}

impl Plan {
    /// How many places there are.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether any place of `text` gets another text than it has.
    pub(super) fn changes(&self, text: &str) -> bool {
        self.puts().any(|(place, put)| text.get(place.clone()) != Some(put))
    }

    /// The length of `text` with the replacements, in bytes; `None` when there is no such number.
    pub(super) fn new_length(&self, text: &str) -> Option<usize> {
        let removed: usize = self.places.iter().map(|(place, _)| place.len()).sum();
        let added = self.puts().try_fold(0_usize, |sum, (_, put)| sum.checked_add(put.len()))?;
        text.len().checked_sub(removed)?.checked_add(added)
    }

    /// `mark`, and `text` with the replacements; positions in the changes are those without `mark`.
    pub(super) fn apply(&self, mark: &str, text: &str) -> (String, Vec<Change>) {
        let mut result = String::with_capacity(mark.len() + self.new_length(text).unwrap_or_default());
        result.push_str(mark);
        let mut changes = Vec::with_capacity(self.places.len());
        let mut from = 0;
        for (place, put) in self.puts() {
            result.push_str(text.get(from..place.start).unwrap_or_default());
            let start = result.len() - mark.len();
            result.push_str(put);
            changes.push(Change { old: place.clone(), new: start..start + put.len() });
            from = place.end;
        }
        result.push_str(text.get(from..).unwrap_or_default());
        (result, changes)
    }

    fn puts(&self) -> impl Iterator<Item = (&Range<usize>, &str)> {
        self.places.iter().map(|(place, text)| (place, self.texts.get(*text).map_or("", String::as_str)))
    }
}

pub(super) fn to_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

pub(super) fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edited(text: &str, old: &str, new: &str) -> String {
        let endings = Endings::of(text);
        plan(text, find(text, old, endings).places, new, endings).apply("", text).0
    }

    #[test]
    fn line_endings_are_those_of_the_file() {
        for (text, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
            ("a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n"),
            ("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"),
            ("a\nb\nc\r\nd\n", "c\nd", "e\nf", "a\nb\ne\r\nf\n"),
            ("a\nb\nc\r\nd\r\ne\r\n", "a\nb", "x\ny", "x\ny\nc\r\nd\r\ne\r\n"),
            ("a\nb\r\nc\n", "a\nb\nc", "1\n2\n3\n4", "1\n2\r\n3\r\n4\n"),
            ("a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n"),
            ("a\nb\r\nc", "c", "x\ny", "a\nb\r\nx\r\ny"),
            ("one", "one", "a\nb", "a\nb"),
        ] {
            assert_eq!(edited(text, old, new), expected, "{text:?} {old:?} {new:?}");
        }
    }

    #[test]
    fn many_places_on_one_long_line_among_mixed_ones_take_no_longer() {
        let text = format!("a\nb\r\n{}", "x,".repeat(1_000_000));
        let made = edited(&text, ",", "\n");
        assert_eq!((made.matches("x\r\n").count(), made.len()), (1_000_000, text.len() + 1_000_000));
    }

    #[test]
    fn what_overlaps_is_not_unique() {
        assert_eq!(find("aaa", "aa", Endings::None).places, [0..2, 1..3]);
        assert_eq!(find("éé é", "é é", Endings::None).places.first(), Some(&(2..7)));
        // The one with LF and the one with CRLF look the same to whoever read them.
        assert_eq!(find("a\nb\na\r\nb", "a\nb", Endings::Mixed).places.len(), 2);
    }

    /// The places of `old` one by one, as anybody would look for them.
    fn naive(text: &str, old: &str, new: &str) -> String {
        let (mut result, mut rest) = (String::new(), text);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(old) {
                result.push_str(new);
                rest = after;
            } else {
                let next = rest.chars().next().unwrap();
                result.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        result
    }

    proptest! {
        #[test]
        fn a_replacement_that_is_new_can_be_undone(text in "[ab\n]{0,60}", old in "[ab\n]{1,4}") {
            let there = edited(&text, &old, "#");
            let overlap = find(&text, &old, Endings::of(&text)).places.windows(2).any(|two| two[0].end > two[1].start);
            prop_assume!(!overlap);
            prop_assert_eq!(edited(&there, "#", &old), text);
        }

        #[test]
        fn all_places_are_those_found_one_by_one(text in "[abé\n]{0,40}", old in "[abé\n]{1,3}", new in "[xé\n]{0,3}") {
            let places = find(&text, &old, Endings::of(&text)).places;
            prop_assume!(!places.windows(2).any(|two| two[0].end > two[1].start));
            prop_assert_eq!(edited(&text, &old, &new), naive(&text, &old, &new));
        }

        #[test]
        fn in_any_mixture_of_line_ends_only_the_place_changes(
            lines in prop::collection::vec(("[ab]{0,2}", any::<bool>()), 1..12), from in 0..12_usize, count in 1..4_usize
        ) {
            let whole = |(line, crlf): &(String, bool)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" });
            let text: String = lines.iter().map(whole).collect();
            let from = from % lines.len();
            let to = (from + count).min(lines.len());
            let old: String = lines[from..to].iter().map(|(line, _)| format!("{line}\n")).collect();
            let new: String = (from..to).map(|number| format!("#{number}\n")).collect();
            let endings = Endings::of(&text);
            let places = find(&text, &old, endings).places;
            prop_assume!(places.len() == 1);
            let (made, _) = plan(&text, places, &new, endings).apply("", &text);
            let expected = lines.iter().enumerate().map(|(number, (line, crlf))| {
                let line = if (from..to).contains(&number) { format!("#{number}") } else { line.clone() };
                whole(&(line, *crlf))
            });
            prop_assert_eq!(made, expected.collect::<String>());
        }
    }
}
