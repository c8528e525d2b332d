//! Wildcard patterns, compiled when a rule is read and matched in time linear in the text.
//!
//! A pattern is a list of [`Token`]s over a text that one character divides into parts: `/` divides
//! paths, [`WORD_GAP`](super::command::WORD_GAP) divides the words of a command. Matching follows
//! all possibilities at once instead of backtracking, so that no pattern is slow on any text.

/// One element of a compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Char(char),
    /// One character inside the ranges, or outside when negated; never the separator.
    Class { negated: bool, ranges: Box<[(char, char)]> },
    /// One character other than the separator.
    One,
    /// Any run of characters without the separator.
    Run,
    /// Any run of characters.
    Deep,
    /// Zero or more whole parts, each with the separator behind it. Always followed by [`Token::InFolders`].
    Folders,
    /// The inside of a part that [`Token::Folders`] skips.
    InFolders,
}

/// What may follow the place where the pattern ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Closed,
    /// Nothing, or a separator and anything behind it.
    Open,
}

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    /// The characters before the first wildcard.
    prefix: Box<str>,
    rest: Box<[Token]>,
    /// The longest run of characters in `rest`: a text without it cannot match.
    needle: Box<str>,
    separator: char,
}

impl Glob {
    pub(super) fn new(tokens: Vec<Token>, separator: char) -> Self {
        let mut prefix = String::new();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(Token::Char(literal)) = tokens.peek() {
            prefix.push(*literal);
            tokens.next();
        }
        let rest: Box<[Token]> = tokens.collect();
        let needle = longest_run(&rest).into();
        Self { prefix: prefix.into(), rest, needle, separator }
    }

    /// The characters before the first wildcard.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether the pattern matches `text` from its start to its end, or to an open tail.
    pub(super) fn matches(&self, text: &str, tail: Tail) -> bool {
        self.matches_from(text, &[0], tail)
    }

    /// Whether the pattern matches `text` from one of the byte offsets `starts`, which ascend.
    pub(super) fn matches_from(&self, text: &str, starts: &[usize], tail: Tail) -> bool {
        let after_prefix = |&start: &usize| {
            let found = text.get(start..)?.starts_with(&*self.prefix);
            found.then_some(start + self.prefix.len())
        };
        let mut entries = starts.iter().filter_map(after_prefix).peekable();
        match &*self.rest {
            [] => entries.any(|entry| {
                let end = text.get(entry..).unwrap_or_default();
                end.is_empty() || (tail == Tail::Open && end.starts_with(self.separator))
            }),
            [Token::Deep] => entries.next().is_some(),
            rest if entries.peek().is_some() && text.contains(&*self.needle) => {
                Automaton { tokens: rest, separator: self.separator, tail }.run(text, entries)
            }
            _ => false,
        }
    }
}

fn longest_run(tokens: &[Token]) -> String {
    let runs = tokens.split(|token| !matches!(token, Token::Char(_)));
    let longest = runs.max_by_key(|run| run.len()).unwrap_or_default();
    longest.iter().filter_map(|token| if let Token::Char(c) = token { Some(*c) } else { None }).collect()
}

/// The part of a pattern behind its literal prefix, run over a text.
struct Automaton<'a> {
    tokens: &'a [Token],
    separator: char,
    tail: Tail,
}

/// The tokens that may match the next character, without repetition.
struct States {
    list: Vec<usize>,
    seen: Vec<u32>,
    step: u32,
}

impl States {
    fn new(tokens: usize) -> Self {
        Self { list: Vec::new(), seen: vec![0; tokens + 1], step: 1 }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.step = self.step.wrapping_add(1);
        if self.step == 0 {
            self.seen.fill(0);
            self.step = 1;
        }
    }

    /// Adds `state` and every state that is reached from it without a character.
    fn enter(&mut self, tokens: &[Token], mut state: usize) {
        while let Some(seen) = self.seen.get_mut(state)
            && *seen != self.step
        {
            *seen = self.step;
            self.list.push(state);
            state += match tokens.get(state) {
                Some(Token::Run | Token::Deep) => 1,
                Some(Token::Folders) => 2,
                _ => return,
            };
        }
    }
}

impl Automaton<'_> {
    fn run(&self, text: &str, entries: impl Iterator<Item = usize>) -> bool {
        let mut entries = entries.peekable();
        let Some(&first) = entries.peek() else { return false };
        let mut now = States::new(self.tokens.len());
        let mut next = States::new(self.tokens.len());
        for (offset, found) in text.get(first..).unwrap_or_default().char_indices() {
            while entries.next_if(|&entry| entry <= first + offset).is_some() {
                now.enter(self.tokens, 0);
            }
            if now.list.is_empty() && entries.peek().is_none() {
                return false;
            }
            next.clear();
            for &state in &now.list {
                if self.advance(state, found, &mut next) {
                    return true;
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        if entries.next().is_some() {
            now.enter(self.tokens, 0);
        }
        now.list.contains(&self.tokens.len())
    }

    /// Lets `state` take the character `found`; true when nothing behind it can matter any more.
    fn advance(&self, state: usize, found: char, next: &mut States) -> bool {
        let separates = found == self.separator;
        let Some(token) = self.tokens.get(state) else {
            return separates && self.tail == Tail::Open;
        };
        let target = match token {
            Token::Char(wanted) if *wanted == found => state + 1,
            Token::Class { negated, ranges } if !separates => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&found));
                if inside == *negated {
                    return false;
                }
                state + 1
            }
            Token::One if !separates => state + 1,
            Token::Run if !separates => state,
            Token::Deep if state + 1 == self.tokens.len() => return true,
            Token::Deep => state,
            Token::Folders if separates => state,
            Token::Folders => state + 1,
            Token::InFolders if separates => state - 1,
            Token::InFolders => state,
            Token::Char(_) | Token::Class { .. } | Token::One | Token::Run => return false,
        };
        next.enter(self.tokens, target);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(name: &str) -> Glob {
        let mut tokens = vec![Token::Char('/'), Token::Folders, Token::InFolders];
        tokens.extend(name.chars().map(|c| if c == '*' { Token::Run } else { Token::Char(c) }));
        Glob::new(tokens, '/')
    }

    #[test]
    fn folders_stand_for_any_number_of_whole_parts() {
        let glob = folders("a*.rs");
        for text in ["/a.rs", "/x/ab.rs", "/x/y/a.rs", "/a/a.rs", "/a.rs/a.rs"] {
            assert!(glob.matches(text, Tail::Closed), "{text}");
        }
        for text in ["/ba.rs", "/x/ba.rs", "/a/b.rs", "a.rs", "/a.rs/b", ""] {
            assert!(!glob.matches(text, Tail::Closed), "{text}");
        }
        assert!(glob.matches("/x/a.rs/below", Tail::Open));
        assert!(!glob.matches("/x/a.rsx", Tail::Open));
    }

    #[test]
    fn every_start_is_tried_and_nothing_between_them() {
        let glob = Glob::new(vec![Token::Char('b'), Token::One, Token::Deep, Token::Char('z')], ' ');
        assert!(glob.matches_from("ab bz bxz", &[1, 6], Tail::Closed));
        assert!(!glob.matches_from("ab bz bxz", &[0, 2], Tail::Closed));
        assert!(!glob.matches_from("ab", &[], Tail::Closed));
    }

    #[test]
    fn hostile_patterns_are_not_slow() {
        let tokens = "*a*a*a*a*a*a*a*b".chars().map(|c| if c == '*' { Token::Deep } else { Token::Char(c) });
        let glob = Glob::new(tokens.collect(), '/');
        assert!(!glob.matches(&"a".repeat(200_000), Tail::Closed));
    }
}
