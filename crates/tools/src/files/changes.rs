//! Which stretches of a text were exchanged, over one step or several.

use std::ops::Range;

/// A stretch of the old text and what stands in its place in the new one, in bytes.
///
/// A list of them is in order and without overlaps; what lies between two is the same in both texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The changes from the text before `first` to the one after `second`, which started from what `first` made.
///
/// Stretches that touch become one.
pub(super) fn then(first: &[Change], second: &[Change]) -> Vec<Change> {
    if first.is_empty() {
        return second.to_vec();
    }
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    let mut joined = Vec::new();
    // How far the text in the middle is ahead of the old one, and the new one of that; modulo 2^n, as lengths shrink.
    let (mut ahead, mut further) = (0_usize, 0_usize);
    while let Some(start) = starts(first.peek(), second.peek()) {
        let begin = (start.wrapping_sub(ahead), start.wrapping_add(further));
        let mut end = start;
        loop {
            if let Some(change) = first.next_if(|change| change.new.start <= end) {
                end = end.max(change.new.end);
                ahead = change.new.end.wrapping_sub(change.old.end);
            } else if let Some(change) = second.next_if(|change| change.old.start <= end) {
                end = end.max(change.old.end);
                further = change.new.end.wrapping_sub(change.old.end);
            } else {
                break;
            }
        }
        joined
            .push(Change { old: begin.0..end.wrapping_sub(ahead), new: begin.1..end.wrapping_add(further) });
    }
    joined
}

fn starts(first: Option<&&Change>, second: Option<&&Change>) -> Option<usize> {
    let (first, second) = (first.map(|change| change.new.start), second.map(|change| change.old.start));
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (one, other) => one.or(other),
    }
}

/// The one stretch in which two texts differ; none when they are the same.
pub(super) fn difference(old: &str, new: &str) -> Vec<Change> {
    if old == new {
        return Vec::new();
    }
    let start = same_bytes(old.as_bytes(), new.as_bytes());
    let start = old.floor_char_boundary(start).min(new.floor_char_boundary(start));
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    let old_end = old.ceil_char_boundary(old.len() - end);
    let new_end = new.ceil_char_boundary(new.len() - end);
    // A character may end alike and begin otherwise: the longer remainder decides.
    let end = (old.len() - old_end).min(new.len() - new_end);
    vec![Change { old: start..old.len() - end, new: start..new.len() - end }]
}

/// How many bytes both begin with.
fn same_bytes(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK)).take_while(|(a, b)| a == b && a.len() == BLOCK).count();
    let from = blocks * BLOCK;
    let (a, b) = (a.get(from..).unwrap_or_default(), b.get(from..).unwrap_or_default());
    from + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `text` with characters exchanged from the back, and the changes.
    fn exchanged(text: &str, cuts: &[(usize, usize, String)]) -> (String, Vec<Change>) {
        let (mut new, mut changes, mut from) = (String::new(), Vec::new(), 0);
        for (skip, len, put) in cuts {
            let start = (from + skip).min(text.len());
            let end = (start + len).min(text.len());
            new.push_str(&text[from..start]);
            changes.push(Change { old: start..end, new: new.len()..new.len() + put.len() });
            new.push_str(put);
            from = end;
        }
        new.push_str(&text[from..]);
        (new, changes)
    }

    fn fits(old: &str, new: &str, changes: &[Change]) -> bool {
        let (mut at, mut to, mut same) = (0, 0, true);
        for change in changes {
            same &= old.get(at..change.old.start) == new.get(to..change.new.start);
            (at, to) = (change.old.end, change.new.end);
        }
        same && old.get(at..) == new.get(to..)
    }

    fn cuts() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
        prop::collection::vec((0..6_usize, 0..4_usize, "[xyz]{0,4}"), 0..5)
    }

    proptest! {
        #[test]
        fn steps_are_joined_to_what_leads_from_the_first_text_to_the_last(
            old in "[abc]{0,40}", one in cuts(), two in cuts(), three in cuts()
        ) {
            let (middle, first) = exchanged(&old, &one);
            let (new, second) = exchanged(&middle, &two);
            let (last, third) = exchanged(&new, &three);
            let both = then(&first, &second);
            prop_assert!(fits(&old, &new, &both), "{both:?}");
            let all = then(&both, &third);
            prop_assert!(fits(&old, &last, &all), "{all:?}");
            prop_assert!(all.windows(2).all(|pair| pair[0].old.end <= pair[1].old.start));
        }

        #[test]
        fn a_difference_leads_from_one_text_to_the_other(old in "[aäö€\n]{0,12}", new in "[aäö€\n]{0,12}") {
            prop_assert!(fits(&old, &new, &difference(&old, &new)));
        }
    }
}
