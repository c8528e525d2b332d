//! Words: quotes, escapes, and what the shell expands.

use super::{Reader, Step, ends_word};
use crate::permission::command::words::{MANY, ONE, unquoted};

impl Reader<'_> {
    /// Reads the word that begins here and appends it to `words`; whether it is written without quotes
    /// and expansions.
    pub(super) fn word(&mut self, words: &mut String) -> Step<bool> {
        let from = words.len();
        if matches!(self.peek(), Some(b'<' | b'>')) {
            self.at += 2;
            self.in_shell("process substitution", ")")?;
            words.push_str("/dev/fd/");
            words.push(ONE);
            if self.peek().is_some_and(|byte| !ends_word(byte)) {
                return Err(self.misread("a word goes on behind a process substitution"));
            }
            return Ok(false);
        }
        let mut is_bare = true;
        while let Some(byte) = self.peek() {
            match byte {
                byte if ends_word(byte) => break,
                b'\\' => is_bare &= self.backslash(words)?,
                b'\'' => {
                    is_bare = false;
                    self.single_quoted(words)?;
                }
                b'"' => {
                    is_bare = false;
                    self.double_quoted(words)?;
                }
                b'$' => {
                    is_bare = false;
                    self.dollar(words, false)?;
                }
                b'`' => {
                    is_bare = false;
                    self.backquoted(false)?;
                    words.push(MANY);
                }
                b'{' if words.len() == from && self.bare_word() == "{}" => {
                    words.push_str("{}");
                    self.at += 2;
                }
                b'{' => {
                    self.script.is_deep = true;
                    self.at += 1;
                    words.push(MANY);
                }
                _ => self.push(words, true)?,
            }
        }
        Ok(is_bare)
    }

    /// Takes one character over.
    fn push(&mut self, words: &mut String, is_bare: bool) -> Step {
        let Some(c) = self.rest().chars().next() else { return Ok(()) };
        if c == '\0' || matches!(c, '\u{FDD0}'..='\u{FDEF}') {
            return Err(self.misread("it holds what is not a character of a command"));
        }
        if c == '\n' && !self.pending.is_empty() {
            return Err(self.misread("a here-document begins within a word"));
        }
        words.push(if is_bare { unquoted(c) } else { c });
        self.at += c.len_utf8();
        Ok(())
    }

    /// A backslash outside quotes; whether it only continues a line.
    fn backslash(&mut self, words: &mut String) -> Step<bool> {
        self.at += 1;
        match self.peek() {
            None => Err(self.misread("it ends with a backslash")),
            Some(b'\n') if !self.pending.is_empty() => {
                Err(self.misread("a here-document begins within a word"))
            }
            Some(b'\n') => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => self.push(words, false).map(|()| false),
        }
    }

    fn single_quoted(&mut self, words: &mut String) -> Step {
        self.at += 1;
        while let Some(byte) = self.peek() {
            if byte == b'\'' {
                self.at += 1;
                return Ok(());
            }
            self.push(words, false)?;
        }
        Err(self.misread("a quotation is not closed"))
    }

    fn double_quoted(&mut self, words: &mut String) -> Step {
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if self.starts_with("\\\n") => {
                    if !self.pending.is_empty() {
                        return Err(self.misread("a here-document begins within a word"));
                    }
                    self.at += 2;
                }
                b'\\' => {
                    if matches!(self.peek_at(1), Some(b'$' | b'`' | b'"' | b'\\')) {
                        self.at += 1;
                    }
                    self.push(words, false)?;
                }
                b'$' => self.dollar(words, true)?,
                b'`' => {
                    self.backquoted(true)?;
                    words.push(ONE);
                }
                _ => self.push(words, false)?,
            }
        }
        Err(self.misread("a quotation is not closed"))
    }
}
