//! The names nearest to one that is not there.

/// Most names suggested.
const MOST: usize = 3;

/// The names of `known` that somebody who wrote `wanted` may have meant, the nearest first.
pub(super) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let reach = wanted.chars().count() / 2;
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let last = lower.rsplit('/').next().unwrap_or(&lower);
            let distance = distance(&wanted, last);
            let holds = !wanted.is_empty() && lower.contains(&wanted);
            (holds || distance <= reach).then_some((if holds { 0 } else { distance }, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Letters to insert, take away or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, other) in row.iter_mut().skip(1).zip(&to) {
            let best = (diagonal + usize::from(letter != *other)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant_is_near() {
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "")), (3, 3, 3));
        let known = ["claude-sonnet-4-5", "claude-haiku-4-5", "gpt-4o", "openai/gpt-4o-mini"];
        assert_eq!(nearest("claude-sonet-4-5", known), ["claude-sonnet-4-5", "claude-haiku-4-5"]);
        assert_eq!(nearest("GPT-4o", known), ["gpt-4o", "openai/gpt-4o-mini"]);
        assert_eq!(nearest("zzzzzz", known), [""; 0]);
    }
}
