//! Simple commands.

use super::{RESERVED, Reader, Step};
use crate::permission::command::script::PartKind;
use crate::permission::command::words::{WORD_GAP, has_marks, is_bracket};
use crate::permission::command::wrapper::is_assignment;

/// A simple command that is being read.
struct Simple {
    words: String,
    count: usize,
    /// Where its part stands among those of the script.
    place: usize,
    /// Where the program is named.
    from: usize,
    ends_at: usize,
    is_plain_name: bool,
}

impl Reader<'_> {
    pub(super) fn simple(&mut self) -> Step {
        let start = self.at;
        if self.bare_word() == "coproc" {
            self.coprocess()?;
        }
        let (place, from) = (self.script.parts.len(), self.at);
        let words = String::new();
        let mut simple = Simple { words, count: 0, place, from, ends_at: start, is_plain_name: false };
        self.add(from, PartKind::Nothing);
        while self.at_simple() {
            if self.at_word() {
                self.word_of(&mut simple)?;
            } else if self.peek() == Some(b'(') {
                let is_alone = simple.place + 1 == self.script.parts.len();
                if simple.count == 1 && simple.is_plain_name && is_alone {
                    return self.function_named(&simple.words);
                }
                return Err(self.unexpected(Some(b'(')));
            } else {
                let is_both = self.starts_with("&>");
                self.redirection(self.at)?;
                if is_both && self.at_word() {
                    // `a &>b c` is `a & >b c` where bash is missing and another shell reads it.
                    return Err(self.misread("what follows `&>` may be a command of its own"));
                }
            }
            simple.ends_at = self.at;
        }
        if simple.ends_at == start {
            let found = self.peek();
            return Err(self.unexpected(found));
        }
        if simple.count > 0 {
            let kind = self.named(&simple.words);
            if let Some(part) = self.script.parts.get_mut(place) {
                part.range = simple.from..simple.ends_at;
                part.kind = kind;
            }
        }
        Ok(())
    }

    /// A word, which may turn out to be an assignment or the descriptor of a redirection.
    fn word_of(&mut self, simple: &mut Simple) -> Step {
        let (from, length) = (self.at, simple.words.len());
        if simple.count > 0 {
            simple.words.push(WORD_GAP);
        }
        let is_bare = self.word(&mut simple.words)?;
        let text = self.text(from..self.at);
        if matches!(self.peek(), Some(b'<' | b'>')) {
            if text.starts_with('{') {
                return Err(self.misread("the shell puts a number into a variable"));
            }
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                simple.words.truncate(length);
                return self.redirection(from);
            }
        }
        if simple.count == 0 {
            if is_assignment(text) {
                simple.words.truncate(length);
                self.script.is_deep = true;
                self.gap(from, "it sets a variable");
                return Ok(());
            }
            simple.from = from;
            simple.is_plain_name = is_bare;
        }
        let is_misplaced = match simple.count {
            0 => is_bare && simple.words != "time" && RESERVED.contains(&simple.words.as_str()),
            _ => is_bare && simple.words.starts_with("time\0") && RESERVED.contains(&text),
        };
        if is_misplaced {
            return Err(self.misread(format!("`{text}` is not expected there")));
        }
        simple.count += 1;
        Ok(())
    }

    /// What a command with these words is.
    fn named(&mut self, words: &str) -> PartKind {
        let name = words.split(WORD_GAP).next().unwrap_or_default();
        if name.is_empty() || (has_marks(name) && !is_bracket(name)) || name.contains('=') {
            return PartKind::Gap("the shell decides which program runs".into());
        }
        PartKind::Simple(self.script.add_words(words))
    }

    /// Whether a word, a redirection or a parenthesis follows.
    fn at_simple(&mut self) -> bool {
        self.blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')' | b'#') => false,
            Some(b'&') => self.peek_at(1) == Some(b'>'),
            Some(_) => true,
        }
    }

    /// `name ()`, of which the name has been read.
    fn function_named(&mut self, name: &str) -> Step {
        self.at += 1;
        self.blanks();
        self.eat_required(")")?;
        self.script.is_deep = true;
        self.function_body(name)
    }

    /// `coproc` before a simple command, which it runs as if it stood alone.
    fn coprocess(&mut self) -> Step {
        self.at += "coproc".len();
        self.script.is_deep = true;
        self.blanks();
        let first = self.bare_word();
        let behind = self.rest().get(first.len()..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let second = behind.split([' ', '\t', '\n', ';']).next().unwrap_or_default();
        let opens =
            |word: &str| word.is_empty() || word.starts_with(['(', '\\', '\n']) || RESERVED.contains(&word);
        // A name of its own may stand before a compound command, also on the next line.
        if first.contains('\\') || opens(first) || (!second.is_empty() && opens(second)) {
            return Err(self.misread("only a simple command is understood behind `coproc`"));
        }
        Ok(())
    }
}
