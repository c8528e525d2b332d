//! Tool results are cut to the host's budget before the model sees them.

/// Cuts the middle out of `text` when it has more than `budget` characters, and says how much is gone.
///
/// Head and tail are kept in equal parts, cut at character boundaries. A budget of 0 cuts nothing.
pub(crate) fn fit(text: String, budget: usize) -> String {
    if budget == 0 || text.len() <= budget || text.chars().count() <= budget {
        return text;
    }
    let half = budget / 2;
    let Some((head_end, _)) = text.char_indices().nth(half) else { return text };
    let Some((tail_start, _)) = text.char_indices().rev().nth(half.saturating_sub(1)) else { return text };
    let (head, middle, tail) = (&text[..head_end], &text[head_end..tail_start], &text[tail_start..]);
    let cut = middle.chars().count();
    format!(
        "{head}\n\n[... {cut} characters cut from the middle; ask for less at once to see them ...]\n\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(fit("abc".into(), 3), "abc");
        assert_eq!(fit("abc".into(), 0), "abc");
        assert_eq!(fit("äöü".into(), 3), "äöü");
    }

    #[test]
    fn long_text_keeps_both_ends_and_counts_what_is_gone() {
        let text = format!("{}{}{}", "ä".repeat(5), "x".repeat(90), "ü".repeat(5));
        let cut = fit(text, 10);
        assert!(cut.starts_with("äääää\n\n[... 90 characters cut"), "{cut}");
        assert!(cut.ends_with("]\n\nüüüüü"), "{cut}");
    }
}
