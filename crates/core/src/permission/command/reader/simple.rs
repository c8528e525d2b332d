//! Simple commands.

use super::{RESERVED, Reader, Step};
use crate::permission::command::script::PartKind;
use crate::permission::command::words::{WORD_GAP, has_marks, is_bracket};
use crate::permission::command::wrapper::is_assignment;

impl Reader<'_> {
    pub(super) fn simple(&mut self) -> Step {
        let start = self.at;
        if self.bare_word() == "coproc" {
            self.coprocess()?;
        }
        let from = self.at;
        let place = self.script.parts.len();
        self.add(from, PartKind::Nothing);
        let mut words = String::new();
        let mut ends_at = from;
        let mut is_plain_name = false;
        let mut count = 0;
        while self.at_simple() {
            let word_at = self.at;
            if !self.at_word() || self.starts_with("&>") {
                if self.peek() == Some(b'(') {
                    if count == 1 && is_plain_name && word_at > from && place + 1 == self.script.parts.len() {
                        return self.function_named(&words);
                    }
                    return Err(self.unexpected(Some(b'(')));
                }
                self.redirection(word_at)?;
                ends_at = self.at;
                continue;
            }
            let length = words.len();
            if count > 0 {
                words.push(WORD_GAP);
            }
            let is_bare = self.word(&mut words)?;
            let text = self.text(word_at..self.at);
            if matches!(self.peek(), Some(b'<' | b'>')) {
                if text.starts_with('{') {
                    return Err(self.misread("the shell puts a number into a variable"));
                }
                if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
                    words.truncate(length);
                    self.redirection(word_at)?;
                    ends_at = self.at;
                    continue;
                }
            }
            ends_at = self.at;
            if count == 0 && is_assignment(text) {
                words.truncate(length);
                self.script.is_deep = true;
                self.gap(word_at, "it sets a variable");
                continue;
            }
            if count == 0 {
                is_plain_name = is_bare;
                if is_bare && RESERVED.contains(&words.as_str()) && words != "time" {
                    return Err(self.misread(format!("`{words}` is not expected there")));
                }
            } else if is_bare && words.starts_with("time\0") && RESERVED.contains(&text) {
                return Err(self.misread(format!("`{text}` is not expected behind `time`")));
            }
            count += 1;
        }
        if ends_at == start {
            let found = self.peek();
            return Err(self.unexpected(found));
        }
        if count > 0 {
            let kind = self.named(&words);
            if let Some(part) = self.script.parts.get_mut(place) {
                part.range = from..ends_at;
                part.kind = kind;
            }
        }
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
        self.expect(")")?;
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
        if opens(first) || (!second.is_empty() && opens(second)) {
            return Err(self.misread("only a simple command is understood behind `coproc`"));
        }
        Ok(())
    }
}
