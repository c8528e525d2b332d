//! Where the prompt cache is to keep what it has read (protocols F1).
//!
//! The service writes an entry at each breakpoint of a request, at most four of them. Of a later request it reads the
//! longest entry that it finds at a breakpoint or at one of the twenty blocks before it. So every request marks where
//! the last one ended, which is just before the last answer, and where itself ends. In between stands one more mark
//! when that is far: what a request that left no answer behind has written is then found, too.

use super::encoded::BlockEnd;
use crate::CacheTtl;

/// Blocks that the service looks back from a breakpoint, with a margin for those it may count by itself.
const REACH: usize = 18;

/// The mark, to be put before the end of a block.
pub(super) fn mark(ttl: Option<CacheTtl>) -> &'static [u8] {
    match ttl {
        Some(CacheTtl::OneHour) => br#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        _ => br#","cache_control":{"type":"ephemeral"}"#,
    }
}

/// Sets `mark` on the object that ends at `at`.
pub(super) fn set(out: &mut Vec<u8>, at: usize, mark: &[u8]) {
    if let Some(brace) = at.checked_sub(1).filter(|brace| out.get(*brace) == Some(&b'}')) {
        out.splice(brace..brace, mark.iter().copied());
    }
}

/// Whether so many blocks since the last request need a mark in their middle.
pub(super) const fn is_far(blocks: usize) -> bool {
    blocks > REACH
}

/// Which of the blocks of the conversation are marked, the last one first. `answered` counts those before the last
/// answer; with `between`, a third mark may stand in the middle.
pub(super) fn places(blocks: &[BlockEnd], answered: usize, between: bool) -> Vec<usize> {
    let last_in = |blocks: &[BlockEnd]| blocks.iter().rposition(|block| block.markable);
    let (end, before) = (last_in(blocks), blocks.get(..answered).and_then(last_in));
    let after = before.map_or(0, |before| before + 1);
    let middle = end.filter(|end| between && is_far(end + 1 - after.min(*end))).and_then(|end| {
        let reached = blocks.get(..=end.saturating_sub(REACH))?;
        last_in(reached).filter(|middle| *middle >= after)
    });
    let mut places = Vec::with_capacity(3);
    for place in [end, middle, before].into_iter().flatten() {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.into_iter().filter_map(|place| Some(blocks.get(place)?.at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(markable: &str) -> Vec<BlockEnd> {
        let block = |(at, mark): (usize, char)| BlockEnd { at, markable: mark == 'm' };
        markable.chars().enumerate().map(block).collect()
    }

    #[test]
    fn the_ends_of_the_last_request_and_of_this_one_are_marked() {
        assert_eq!(places(&[], 0, true), [0; 0]);
        assert_eq!(places(&blocks("m"), 0, true), [0]);
        // An answer of thinking and a call, and the result.
        assert_eq!(places(&blocks("mm-mm"), 2, true), [4, 1]);
        // What cannot be marked is passed over, in this request as in the last one.
        assert_eq!(places(&blocks("mm--m-"), 4, true), [4, 1]);
        assert_eq!(places(&blocks("---"), 1, true), [0; 0]);
    }

    #[test]
    fn a_long_round_has_a_mark_in_its_middle() {
        let long = blocks(&"m".repeat(41));
        assert_eq!(places(&long, 1, true), [40, 22, 0]);
        assert_eq!(places(&long, 1, false), [40, 0]);
        assert_eq!(places(&long, 30, true), [40, 29]);
        assert_eq!(places(&blocks(&"m".repeat(30)), 0, true), [29, 11]);
        let thinking = blocks(&format!("mm{}mm", "-".repeat(30)));
        assert_eq!(places(&thinking, 2, true), [33, 1]);
    }

    #[test]
    fn a_mark_is_put_into_the_object() {
        let mut out = br#"[{"a":1},{"b":2}]"#.to_vec();
        set(&mut out, 8, mark(None));
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"[{"a":1,"cache_control":{"type":"ephemeral"}},{"b":2}]"#
        );
    }
}
