//! One tag of HTML text: its name, the attributes that matter, and where it ends.

/// A start tag.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: String,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    /// Reads a start tag whose `<` was taken off; also gives what follows it. `None` without an end.
    pub(super) fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let (name, mut rest) = split_at_any(text, |c| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(after) = rest.strip_prefix('>') {
                return Some((Self { name: name.to_ascii_lowercase(), attributes }, after));
            }
            if rest.is_empty() {
                return None;
            }
            let (attribute, after) = read_attribute(rest)?;
            attributes.push(attribute);
            rest = after;
        }
    }

    /// The value of an attribute as written, character references included.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }
}

/// Reads `name`, `name=value`, `name="value"` or `name='value'` at the beginning of `text`.
fn read_attribute(text: &str) -> Option<((&str, &str), &str)> {
    // A stray `=` begins a name.
    let start = usize::from(text.starts_with('='));
    let end = text.get(start..)?.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/' | '>'));
    let (name, rest) = text.split_at_checked(start + end?)?;
    let Some(value) = rest.trim_ascii_start().strip_prefix('=') else { return Some(((name, ""), rest)) };
    let value = value.trim_ascii_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = value.strip_prefix(quote) {
            let (value, rest) = quoted.split_once(quote)?;
            return Some(((name, value), rest));
        }
    }
    let (value, rest) = split_at_any(value, |c| c.is_ascii_whitespace() || c == '>');
    Some(((name, value), rest))
}

fn split_at_any(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_in_every_spelling() {
        let (tag, rest) = Tag::read("A HREF = \"/a>b\" title='it' data-x=1/2 checked>text").unwrap();
        assert_eq!((tag.name.as_str(), rest), ("a", "text"));
        let values = ["href", "title", "data-x", "checked", "none"].map(|name| tag.attribute(name));
        assert_eq!(values, [Some("/a>b"), Some("it"), Some("1/2"), Some(""), None]);
        assert_eq!(Tag::read("br/>x").map(|(tag, rest)| (tag.name, rest)), Some(("br".to_owned(), "x")));
        for endless in ["a", "a href", "a href=\"x>", "a b=c"] {
            assert_eq!(Tag::read(endless), None, "{endless}");
        }
    }
}
