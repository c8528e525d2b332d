//! What a key that nobody knows was probably meant to be.

/// The one of `known` that `name` was probably meant to be: the same in other case, or away from it by one
/// slip, by two in a longer name. A slip is a letter too many, too few, another one, or two that changed places.
pub(super) fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = match name.len() {
        0..=2 => 0,
        3..=6 => 1,
        7..=64 => 2,
        _ => return None,
    };
    let name = name.to_lowercase();
    let distance = |key: &str| slips(&name, &key.to_lowercase());
    let nearest = known.iter().map(|key| (distance(key), *key)).min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= allowed).then_some(nearest.1)
}

/// The least number of slips that make one text of the other.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // Three rows of the table: the one before the last, the last, and the one that is made.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (line, letter) in one.chars().enumerate() {
        let mut row = vec![line + 1];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != *wanted);
            let mut fewest = replaced.min(last[column + 1] + 1).min(row[column] + 1);
            let swapped =
                column.checked_sub(1).filter(|left| previous == Some(*wanted) && other[*left] == letter);
            if let Some(left) = swapped {
                fewest = fewest.min(before[left] + 1);
            }
            row.push(fewest);
        }
        previous = Some(letter);
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["permissions", "hooks", "env", "providers", "provider", "baseURL", "model"];
        for (name, expected) in [
            ("permisions", Some("permissions")),
            ("permission", Some("permissions")),
            ("Permissions", Some("permissions")),
            ("hook", Some("hooks")),
            ("enb", Some("env")),
            ("baseUrl", Some("baseURL")),
            ("modle", Some("model")),
            ("statusLine", None),
            ("sandbox", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(closest(name, &known), expected, "{name}");
        }
        assert_eq!(slips("", "abc"), 3);
        assert_eq!(slips("ab", "ba"), 1);
    }
}
