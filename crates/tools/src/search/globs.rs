//! Globs as models write them.

use std::fmt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::failure::Failure;

/// One or several globs: `*.rs`, `*.{ts,tsx} !tests/**`, `*.c,*.h`, or a list of them.
#[derive(Debug, Default)]
pub(super) struct GlobList(Vec<String>);

impl GlobList {
    /// The globs as a filter for files below `folder`, by the rules of `.gitignore` turned around: what is named
    /// is met, also when it is ignored; what is named behind a `!` is not; the last glob that fits decides.
    ///
    /// # Errors
    ///
    /// When one is no glob.
    pub(super) fn filter(&self, folder: &Path) -> Result<Override, Failure> {
        let invalid = |error| Failure::new("invalid_argument", format!("invalid glob: {error}"));
        let mut filter = OverrideBuilder::new(folder);
        for glob in &self.0 {
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            filter.add(glob).map_err(invalid)?;
            if let Some(literal) = with_literal_brackets(glob) {
                filter.add(&literal).map_err(invalid)?;
            }
        }
        filter.build().map_err(invalid)
    }
}

/// Compiles the pattern of a path: `*` and `?` stop at `/`, `**` does not.
///
/// Brackets stand for a class of characters and for themselves: `app/[id]/*.tsx` finds what it says.
///
/// # Errors
///
/// When it is no glob.
pub(super) fn compile(pattern: &str) -> Result<GlobSet, Failure> {
    let invalid =
        |error: globset::Error| Failure::new("invalid_argument", format!("invalid pattern: {error}"));
    let mut globs = GlobSetBuilder::new();
    for pattern in [Some(pattern.to_owned()), with_literal_brackets(pattern)].into_iter().flatten() {
        let glob = GlobBuilder::new(&pattern).literal_separator(true).empty_alternates(true).build();
        globs.add(glob.map_err(invalid)?);
    }
    globs.build().map_err(invalid)
}

/// The glob with its brackets standing for themselves, where it has a pair.
fn with_literal_brackets(glob: &str) -> Option<String> {
    let open = glob.find('[')?;
    glob.get(open..)?.find(']')?;
    let mut literal = String::with_capacity(glob.len() + 8);
    let mut escaped = false;
    for c in glob.chars() {
        match c {
            '[' if !escaped => literal.push_str("[[]"),
            ']' if !escaped => literal.push_str("[]]"),
            _ => literal.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    (literal != glob).then_some(literal)
}

/// Cuts at commas and white space that stand outside of braces and brackets and behind no backslash.
fn split(text: &str) -> Vec<String> {
    let mut globs = Vec::new();
    let mut glob = String::new();
    let (mut braces, mut class, mut escaped) = (0_usize, false, false);
    for c in text.chars() {
        let between = braces == 0 && !class && !escaped && (c == ',' || c.is_whitespace());
        if between {
            globs.push(std::mem::take(&mut glob));
            continue;
        }
        match c {
            _ if escaped => {}
            '{' if !class => braces += 1,
            '}' if !class => braces = braces.saturating_sub(1),
            '[' => class = true,
            ']' => class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        glob.push(c);
    }
    globs.push(glob);
    globs.retain(|glob| !glob.is_empty());
    globs
}

impl<'de> Deserialize<'de> for GlobList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GlobListVisitor)
    }
}

struct GlobListVisitor;

impl<'de> Visitor<'de> for GlobListVisitor {
    type Value = GlobList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("globs")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<GlobList, E> {
        Ok(GlobList(split(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<GlobList, A::Error> {
        let mut globs = Vec::new();
        while let Some(glob) = list.next_element::<String>()? {
            globs.push(glob);
        }
        globs.retain(|glob| !glob.is_empty());
        Ok(GlobList(globs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_as_models_write_them() {
        let read = |text: &str| serde_json::from_str::<GlobList>(text).unwrap().0;
        let cases = [
            (r#""*.{ts,tsx}""#, vec!["*.{ts,tsx}"]),
            (r#""*.c, *.h""#, vec!["*.c", "*.h"]),
            (r#""src/** !src/{a, b}/**""#, vec!["src/**", "!src/{a, b}/**"]),
            (r#""[, ]x,y""#, vec!["[, ]x", "y"]),
            (r#""a\\ b c\\,d""#, vec![r"a\ b", r"c\,d"]),
            (r#""[]""#, vec!["[]"]),
            (r#"["a b", ""]"#, vec!["a b"]),
            (r#"" ,""#, vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn brackets_are_a_class_and_themselves() {
        let globs = compile("app/[id]/*.{ts,tsx}").unwrap();
        let fits = |path: &str| globs.is_match(path);
        assert!(fits("app/[id]/page.tsx") && fits("app/i/page.ts"));
        assert!(!fits("app/id/page.ts") && !fits("app/[id]/a/page.ts"));
        assert!(compile(r"\[id\]").unwrap().is_match("[id]"));
        assert_eq!(compile("[a").unwrap_err().to_string().lines().count(), 1);
    }
}
