//! What begins with `$` or a backquote.

use super::compound::is_name;
use super::{Reader, Step};
use crate::permission::command::words::{MANY, ONE};

impl Reader<'_> {
    /// Reads what begins with `$`; `quoted` tells whether it stands within double quotes.
    pub(super) fn dollar(&mut self, words: &mut String, quoted: bool) -> Step {
        self.at += 1;
        let mark = if quoted { ONE } else { MANY };
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.arithmetic()?;
                words.push(mark);
            }
            Some(b'(') => {
                self.at += 1;
                self.in_shell("substitution", ")")?;
                words.push(mark);
            }
            Some(b'{') => {
                let is_list = self.parameter()?;
                words.push(if is_list { MANY } else { mark });
            }
            Some(b'\'') if !quoted => self.ansi_quoted(words)?,
            Some(b'@' | b'*') => {
                self.at += 1;
                words.push(MANY);
            }
            Some(b'?' | b'#' | b'!' | b'$') => {
                self.at += 1;
                words.push(ONE);
            }
            Some(b'-' | b'0'..=b'9') => {
                self.at += 1;
                words.push(mark);
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                self.at += self.rest().bytes().take_while(is_part).count();
                words.push(mark);
            }
            None | Some(b' ' | b'\t' | b'\n') => {
                words.push('$');
                return Ok(());
            }
            Some(b'"' | b'/' | b'|' | b')' | b'.' | b',' | b':' | b'%') if quoted => {
                words.push('$');
                return Ok(());
            }
            Some(_) => return Err(self.misread("what follows `$` is not understood")),
        }
        self.script.is_deep = true;
        Ok(())
    }

    /// `$((…))` of numbers alone: names are evaluated once more, and can run commands.
    fn arithmetic(&mut self) -> Step {
        let rest = self.rest();
        let why = "arithmetic can run commands";
        let inner = rest.get(2..).and_then(|inner| inner.get(..inner.find("))")?));
        let inner = inner.ok_or_else(|| self.misread(why))?;
        let is_harmless = |byte: u8| byte.is_ascii_digit() || b" +-*/%".contains(&byte);
        if !inner.bytes().all(is_harmless) {
            return Err(self.misread(why));
        }
        self.at += inner.len() + 4;
        Ok(())
    }

    /// `${…}`; whether it may be several words even within quotes.
    fn parameter(&mut self) -> Step<bool> {
        let rest = self.rest();
        let inner = rest.find('}').and_then(|end| rest.get(1..end)).unwrap_or_default();
        let name = inner.strip_prefix('#').filter(|name| !name.is_empty()).unwrap_or(inner);
        let length = name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, operation) = name.split_at_checked(length).unwrap_or_default();
        let is_position = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if !(is_name(name) || is_position) || !is_harmless_operation(operation) {
            return Err(self.misread("what stands in `${…}` is not understood"));
        }
        self.at += inner.len() + 2;
        Ok(false)
    }

    /// A substitution in backquotes, without quotes or backslashes that would count twice.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Step {
        self.at += 1;
        let rest = self.rest();
        let inner = rest.find('`').and_then(|end| rest.get(..end));
        let inner = inner.ok_or_else(|| self.misread("a backquote is not closed"))?;
        if inner.contains('\\') || (quoted && inner.contains('"')) {
            return Err(self.misread("quotes within backquotes are not understood"));
        }
        let end = std::mem::replace(&mut self.end, self.at + inner.len());
        self.in_shell("substitution", "")?;
        self.end = end;
        self.at += 1;
        Ok(())
    }

    /// `$'…'`, with the escapes that stand for one character. `\'` ends it in a `sh` that does not know it.
    fn ansi_quoted(&mut self, words: &mut String) -> Step {
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.misread("a quotation is not closed"));
            };
            self.at += c.len_utf8();
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    let escaped = match self.peek() {
                        Some(b'n') => '\n',
                        Some(b't') => '\t',
                        Some(b'r') => '\r',
                        Some(b'\\') => '\\',
                        Some(b'"') => '"',
                        _ => return Err(self.misread("an escape within `$'…'` is not understood")),
                    };
                    self.at += 1;
                    words.push(escaped);
                }
                '\0' | '\u{FDD0}'..='\u{FDEF}' => {
                    return Err(self.misread("it holds what is not a character of a command"));
                }
                '\n' if !self.pending.is_empty() => {
                    return Err(self.misread("a here-document begins within a word"));
                }
                c => words.push(c),
            }
        }
    }
}

/// What may follow the name in `${…}`: a default, or a pattern to cut or replace, of plain characters.
fn is_harmless_operation(text: &str) -> bool {
    let operators = [":-", "-", ":+", "+", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@*?, ".contains(&byte);
    let substring =
        text.strip_prefix(':').filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'));
    text.is_empty()
        || substring.is_some_and(|rest| !rest.is_empty())
        || operators
            .iter()
            .any(|operator| text.strip_prefix(operator).is_some_and(|rest| rest.bytes().all(is_plain)))
}
