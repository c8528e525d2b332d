//! Patterns of rules about what is called by its name: `Agent(explore)`, `Skill(deploy:*)`.

use super::glob::{Glob, Tail, Token};

/// What may stand between a name and what belongs to it: its arguments, or a plugin's part of it.
const BOUNDARIES: [char; 2] = [' ', ':'];

/// Which names a rule concerns.
///
/// `*` stands for any characters, `\` takes the next one literally. `name:*` and `name *` mean the name itself
/// and everything that begins with it and a boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamePattern {
    glob: Glob,
    /// The same in lower case, for deny and ask rules.
    folded: Glob,
    open: bool,
}

impl NamePattern {
    /// Reads the text inside the parentheses; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let prefix = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *"));
        let open = prefix.is_some();
        let name = prefix.unwrap_or(text);
        if name.trim().is_empty() {
            return Err("a name is missing before the `*`".into());
        }
        Ok(Self { glob: compile(name)?, folded: compile(&bare(name))?, open })
    }

    /// Whether an allow rule with this pattern covers `name`.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.matches(&self.glob, name)
    }

    /// Whether a deny or ask rule with this pattern concerns `name`: upper and lower case, blanks around it and
    /// the slash that people write before a skill do not count.
    pub(super) fn concerns(&self, name: &str) -> bool {
        self.matches(&self.folded, &bare(name)) || self.covers(name)
    }

    fn matches(&self, glob: &Glob, name: &str) -> bool {
        let beginnings = || name.match_indices(BOUNDARIES).filter_map(|(at, _)| name.get(..at));
        glob.matches(name, Tail::Closed)
            || (self.open && beginnings().any(|beginning| glob.matches(beginning, Tail::Closed)))
    }
}

fn bare(name: &str) -> String {
    name.trim().trim_start_matches('/').to_lowercase()
}

fn compile(name: &str) -> Result<Glob, String> {
    let mut tokens = Vec::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '\\' => Token::Char(chars.next().ok_or("a `\\` stands at the end of the name")?),
            '*' => Token::Deep,
            _ => Token::Char(c),
        });
    }
    Ok(Glob::new(tokens, '\0'))
}

/// `name` as a pattern that covers only it.
pub(super) fn escape(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '*' | '(' | ')' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_prefixes_end_at_a_boundary() {
        for (pattern, name, covers, concerns) in [
            ("explore", "explore", true, true),
            ("explore", "Explore", false, true),
            ("explore", "/explore ", false, true),
            ("/explore", "explore", false, true),
            ("explore", "explorer", false, false),
            ("explore", "explore deep", false, false),
            ("deploy:*", "deploy", true, true),
            ("deploy:*", "deploy:all", true, true),
            ("deploy *", "deploy prod now", true, true),
            ("deploy *", "deploy-prod", false, false),
            ("*-reviewer", "code-reviewer", true, true),
            ("*-reviewer", "reviewer", false, false),
            ("a\\*b", "a*b", true, true),
            ("a\\*b", "axb", false, false),
        ] {
            let parsed = NamePattern::parse(pattern).unwrap();
            assert_eq!((parsed.covers(name), parsed.concerns(name)), (covers, concerns), "{pattern} {name}");
        }
        assert!(NamePattern::parse(":*").is_err() && NamePattern::parse("a\\").is_err());
    }
}
