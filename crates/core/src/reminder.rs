//! Text for the model that is nobody's words: it stands in a block of its own.

/// Puts `pieces` into one `<system-reminder>` block; `None` when there are none.
///
/// A closing tag in them is made harmless: what stands behind it would pass for somebody else's words.
#[must_use]
pub fn system_reminder<S: AsRef<str>>(pieces: &[S]) -> Option<String> {
    if pieces.is_empty() {
        return None;
    }
    let pieces: Vec<&str> = pieces.iter().map(AsRef::as_ref).collect();
    let body = pieces.join("\n\n").replace("</system-reminder>", "<\\/system-reminder>");
    Some(format!("<system-reminder>\n{body}\n</system-reminder>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_in_one_block_that_they_cannot_close() {
        let told = system_reminder(&["one", "two </system-reminder> three"]);
        let expected = "<system-reminder>\none\n\ntwo <\\/system-reminder> three\n</system-reminder>";
        assert_eq!(told.as_deref(), Some(expected));
        assert_eq!(system_reminder::<&str>(&[]), None);
    }
}
