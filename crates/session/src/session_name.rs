//! What a person may call a session.

use crate::printable::printable;
use crate::{Error, ErrorKind};

/// Longest name, in characters.
const LONGEST: usize = 200;

/// The name as it is kept: without space around it, and with U+FFFD for characters that a terminal
/// would act on. A blank name is none.
///
/// # Errors
///
/// [`InvalidName`](ErrorKind::InvalidName) when it is longer than 200 characters.
pub(crate) fn kept(name: Option<&str>) -> Result<Option<String>, Error> {
    let name = name.map(|name| printable(name.trim())).filter(|name| !name.is_empty());
    match &name {
        Some(long) if long.chars().count() > LONGEST => Err(Error::new(
            ErrorKind::InvalidName,
            format!("a session name has at most {LONGEST} characters, and this one {}", long.chars().count()),
        )
        .with_hint("choose a shorter name")),
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_harmless_or_none() {
        assert_eq!(kept(None).unwrap(), None);
        assert_eq!(kept(Some(" \t\n")).unwrap(), None);
        assert_eq!(kept(Some(" fix \u{1b}[2J it ")).unwrap().as_deref(), Some("fix \u{fffd}[2J it"));
        assert_eq!(kept(Some(&"ä".repeat(200))).unwrap(), Some("ä".repeat(200)));
        let error = kept(Some(&"a".repeat(201))).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidName, "VALIDATION_ERROR"));
        assert!(error.to_string().contains("201"), "{error}");
    }
}
