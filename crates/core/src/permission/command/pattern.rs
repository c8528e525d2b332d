//! Command patterns of `Bash` rules: `git status`, `git *`, `npm run test:*`.

use super::pieces::{Piece, Pieces};
use super::words::{Dialect, Item, MANY, NotSimple, Quoting, WORD_GAP, lex, unquoted};
use super::wrapper;
use crate::permission::glob::{Glob, Tail, Token};

/// A compiled command pattern.
///
/// The pattern is written like a command, quotes included. `*` stands for any characters, over
/// several words too; within double quotes it stays in its word; `\*` is the character itself. A
/// trailing ` *` or `:*` stands for any further words, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) struct CommandPattern {
    /// For allow rules; `None` when the pattern is not one simple command and so covers nothing.
    strict: Option<Glob>,
    /// For deny and ask rules, against the pieces of a command.
    lenient: Glob,
    /// For deny and ask rules, against the command as it is written.
    raw: Glob,
    tail: Tail,
    has_wildcard: bool,
    /// Whether a wildcard stands for a part of one word.
    has_run: bool,
    /// Whether the pattern ends with a wildcard over words.
    ends_in_any: bool,
    /// How many words stand literally at the beginning.
    fixed_words: usize,
}

/// Whether an allow rule covers a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) enum Coverage {
    /// It does.
    Covered,
    /// It does not.
    Uncovered,
    /// It would by its words, but is not honoured, for this reason.
    Withheld(String),
}

impl CommandPattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub(in crate::permission) fn parse(text: &str) -> Result<Self, String> {
        let (command, tail) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(command) => (command.trim_end(), Tail::Open),
            None => (text, Tail::Closed),
        };
        if command.is_empty() {
            return Err("no command stands before `:*`".into());
        }
        let strict = words(command, Dialect::Pattern).ok();
        // A lenient reading meets no obstacle.
        let lenient = words(command, Dialect::Lenient).unwrap_or_default();
        let fixed_words = strict.as_ref().map_or(0, |tokens| fixed_words(tokens));
        let has_run = lenient.contains(&Token::Run);
        let ends_in_any = lenient.last() == Some(&Token::Deep);
        let has_wildcard =
            tail == Tail::Open || lenient.iter().any(|token| matches!(token, Token::Deep | Token::Run));
        Ok(Self {
            strict: strict.map(|tokens| Glob::new(tokens, WORD_GAP)),
            lenient: Glob::new(lenient, WORD_GAP),
            raw: Glob::new(raw(command), ' '),
            tail,
            has_wildcard,
            has_run,
            ends_in_any,
            fixed_words,
        })
    }

    /// Whether an allow rule with this pattern covers the simple command with these words.
    pub(super) fn covers(&self, words: &str) -> Coverage {
        if !self.matches_whatever_expands(words) {
            return Coverage::Uncovered;
        }
        if !self.has_wildcard {
            return Coverage::Covered;
        }
        match wrapper::runs_anything(words, self.fixed_words) {
            Some(reason) => Coverage::Withheld(reason),
            None => Coverage::Covered,
        }
    }

    /// Whether the pattern matches, whatever the shell puts in the place of expansions.
    fn matches_whatever_expands(&self, words: &str) -> bool {
        let Some(strict) = &self.strict else { return false };
        let Some(at) = words.find(MANY) else {
            // A name with wildcards may become several words, which `"*"` does not stand for.
            let may_be_many = self.has_run && words.contains(['*', '?', '['].map(unquoted));
            return !may_be_many && strict.matches(words, self.tail);
        };
        // From here on there may be any words, or none.
        let certain = words.get(..at).unwrap_or_default();
        let whole_words = certain.rsplit_once(WORD_GAP).map_or("", |(before, _)| before);
        if self.tail == Tail::Open {
            return strict.matches(whole_words, Tail::Open);
        }
        self.ends_in_any && strict.matches(certain.strip_suffix(WORD_GAP).unwrap_or(certain), Tail::Closed)
    }

    /// The part of a command that a deny or ask rule with this pattern concerns.
    pub(in crate::permission) fn concerns<'a>(&self, raw: &'a str, pieces: &'a Pieces) -> Option<&'a str> {
        let is_it = |piece: &Piece<'_>| self.lenient.matches_from(piece.words, piece.starts, self.tail);
        let in_pieces =
            pieces.may_begin_with(self.lenient.prefix()).then(|| pieces.iter().find(is_it)).flatten();
        in_pieces.map(|piece| piece.words).or_else(|| self.raw.matches(raw.trim(), self.tail).then_some(raw))
    }
}

/// The tokens of a pattern over the words of a command.
fn words(pattern: &str, dialect: Dialect) -> Result<Vec<Token>, NotSimple> {
    let strict = dialect == Dialect::Pattern;
    let mut tokens = Vec::new();
    lex(pattern, dialect, &mut |item| {
        tokens.push(match item {
            Item::Gap => Token::Char(WORD_GAP),
            Item::Char('*', Quoting::Bare) => Token::Deep,
            Item::Char('*', Quoting::Double) => Token::Run,
            Item::Char('*', Quoting::Backslash) if strict => {
                let expanding = unquoted('*');
                Token::Class { negated: false, ranges: [('*', '*'), (expanding, expanding)].into() }
            }
            Item::Char(c, Quoting::Bare) if strict => Token::Char(unquoted(c)),
            Item::Char(c, _) => Token::Char(c),
        });
    })?;
    Ok(tokens)
}

/// The tokens of a pattern over the command as it is written.
fn raw(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' => Token::Deep,
            '\\' if chars.next_if_eq(&'*').is_some() => Token::Char('*'),
            _ => Token::Char(c),
        });
    }
    tokens
}

fn fixed_words(tokens: &[Token]) -> usize {
    let literal = tokens.iter().take_while(|token| matches!(token, Token::Char(_))).count();
    let gaps = tokens.iter().take(literal).filter(|token| **token == Token::Char(WORD_GAP)).count();
    gaps + usize::from(literal == tokens.len())
}
