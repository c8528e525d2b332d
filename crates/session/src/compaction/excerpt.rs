//! Long texts, cut to their two ends.

use std::borrow::Cow;

/// Room for the notice that stands in place of what is left out.
const NOTICE_ROOM: usize = 48;

/// `text` in at most about `limit` bytes: two thirds from its beginning, one third from its end, and between
/// them how much is left out. A text that fits is returned as it is.
pub(super) fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let kept = limit.saturating_sub(NOTICE_ROOM);
    let head = text.floor_char_boundary(kept / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - kept / 3);
    let (Some(beginning), Some(middle), Some(end)) =
        (text.get(..head), text.get(head..tail), text.get(tail..))
    else {
        return Cow::Borrowed(text);
    };
    let left_out = middle.chars().count();
    Cow::Owned(format!("{beginning}\n[... {left_out} characters left out ...]\n{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_ends_and_counts_what_is_gone() {
        assert_eq!(shorten("short", 5), "short");
        let text = format!("{}{}{}", "a".repeat(200), "ü".repeat(300), "z".repeat(100));
        let short = shorten(&text, 198);
        assert_eq!(
            short,
            format!("{}\n[... 450 characters left out ...]\n{}", "a".repeat(100), "z".repeat(50))
        );
        assert!(shorten(&"ü".repeat(500), 99).len() <= 99);
        assert_eq!(shorten(&"x".repeat(50), 10), "\n[... 50 characters left out ...]\n");
    }
}
