//! A strict reader of the grammar of Bash.
//!
//! It accepts the part of the language whose effect can be told without running it, and refuses
//! everything else by name. It reads once, from left to right, in time linear in the text, and goes
//! only so deep.

mod compound;
mod expansion;
mod function;
mod here_document;
mod redirection;
mod simple;
mod test_expression;
mod word;

use std::borrow::Cow;
use std::ops::Range;

use super::script::{Misread, Part, PartKind, Script};
use here_document::HereDocument;

pub(super) use compound::is_harmless_variable;

/// How deep commands may be nested.
const DEEPEST: usize = 40;

/// Words that have a meaning of their own where a command may begin.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];

/// Reads `source` as a script.
pub(super) fn read(source: &str) -> Result<Script, Misread> {
    let mut reader = Reader {
        source,
        end: source.len(),
        at: 0,
        script: Script::default(),
        depth: 0,
        pending: Vec::new(),
        outer_pending: false,
        here_documents: 0,
        context: 0,
        shell: 0,
        repeats: false,
        conditions: 0,
    };
    reader.list(&[])?;
    Ok(reader.script)
}

type Step<T = ()> = Result<T, Misread>;

struct Reader<'a> {
    source: &'a str,
    /// Where the text that is being read ends.
    end: usize,
    at: usize,
    script: Script,
    depth: usize,
    /// Here-documents whose bodies begin with the next line.
    pending: Vec<HereDocument<'a>>,
    /// Whether a command around this one waits for such bodies.
    outer_pending: bool,
    here_documents: usize,
    context: usize,
    shell: usize,
    repeats: bool,
    /// How many constructs are around that may skip what is in them.
    conditions: usize,
}

impl<'a> Reader<'a> {
    /// Commands up to one of `closers`, which stays unread; without any, up to the end.
    fn list(&mut self, closers: &[&str]) -> Step {
        loop {
            self.line_breaks()?;
            if self.closes(closers) {
                return self.check_pending();
            }
            let first = self.script.mark().0;
            self.and_or()?;
            self.blanks();
            match self.peek() {
                Some(b';') if !self.starts_with(";;") && !self.starts_with(";&") => self.at += 1,
                Some(b'&') if !self.starts_with("&&") => {
                    self.at += 1;
                    // A definition in the background is none for what follows.
                    self.forget_functions(first);
                }
                Some(b'\n' | b'#') => {}
                _ if self.closes(closers) => {}
                found => return Err(self.unexpected(found)),
            }
        }
    }

    fn and_or(&mut self) -> Step {
        self.pipeline()?;
        let conditions = self.conditions;
        loop {
            self.blanks();
            if !(self.eat("&&") || self.eat("||")) {
                self.conditions = conditions;
                return Ok(());
            }
            self.conditions = conditions + 1;
            self.line_breaks()?;
            self.pipeline()?;
        }
    }

    fn pipeline(&mut self) -> Step {
        self.blanks();
        if self.bare_word() == "!" {
            self.at += 1;
            self.script.is_deep = true;
            self.blanks();
        }
        let mark = self.script.mark();
        let context = self.context;
        self.command()?;
        loop {
            self.blanks();
            if self.peek() != Some(b'|') || self.starts_with("||") {
                break;
            }
            if self.context == context {
                self.context = self.script.wrap(mark, context, "pipeline");
            }
            self.at += 1;
            self.eat("&");
            self.line_breaks()?;
            self.command()?;
        }
        if self.context != context {
            self.forget_functions(mark.0);
        }
        self.context = context;
        Ok(())
    }

    fn command(&mut self) -> Step {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.misread("it is nested too deeply to be understood"));
        }
        let is_compound = self.compound()?;
        if is_compound {
            self.script.is_deep = true;
            self.redirections()?;
        } else {
            self.simple()?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Whether the list that is being read ends here.
    fn closes(&self, closers: &[&str]) -> bool {
        match self.peek() {
            None => closers.is_empty(),
            Some(b')') => closers == [")"],
            Some(b';') => closers.contains(&";;") && (self.starts_with(";;") || self.starts_with(";&")),
            Some(_) => closers.contains(&self.bare_word()),
        }
    }

    /// Reads a list in a shell of its own, up to and with `closer`.
    fn in_shell(&mut self, context: &'static str, closer: &str) -> Step {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.misread("it is nested too deeply to be understood"));
        }
        if self.starts_with("\\\n") {
            return Err(self.misread("a line is continued where that may change its meaning"));
        }
        self.script.is_deep = true;
        let outer = (self.context, self.shell, self.repeats, self.conditions);
        let outer_pending = self.outer_pending;
        self.outer_pending |= !self.pending.is_empty();
        let pending = std::mem::take(&mut self.pending);
        self.context = self.script.add_context(self.context, context);
        self.shell = self.script.add_shell(self.shell);
        self.repeats = false;
        self.conditions += 1;
        let closers = [closer];
        self.list(if closer.is_empty() { &[] } else { &closers })?;
        self.at += closer.len();
        (self.context, self.shell, self.repeats, self.conditions) = outer;
        (self.pending, self.outer_pending) = (pending, outer_pending);
        self.depth -= 1;
        Ok(())
    }

    /// Blanks, line breaks and comments; behind a line break stand the bodies of here-documents.
    fn line_breaks(&mut self) -> Step {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.at += 1;
                    if self.outer_pending {
                        return Err(self.misread("a here-document begins within a command"));
                    }
                    self.here_document_bodies()?;
                }
                Some(b'#') => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return Ok(()),
            }
        }
    }

    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.starts_with("\\\n") && self.pending.is_empty() => self.at += 2,
                _ => return,
            }
        }
    }

    /// The characters from here to the next that ends a word, whatever they mean.
    fn bare_word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(ends_word).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied().filter(|_| self.at < self.end)
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        self.source.as_bytes().get(at).copied().filter(|_| at < self.end)
    }

    fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// The reserved word or operator `text` must stand here.
    fn eat_required(&mut self, text: &'static str) -> Step {
        if self.bare_word() == text || (text == ")" && self.starts_with(text)) {
            self.at += text.len();
            return Ok(());
        }
        Err(self.misread(format!("`{text}` is missing")))
    }

    fn add(&mut self, from: usize, kind: PartKind) {
        let part = Part {
            range: from..self.at,
            context: self.context,
            shell: self.shell,
            repeats: self.repeats,
            kind,
        };
        self.script.parts.push(part);
    }

    fn gap(&mut self, from: usize, why: impl Into<Cow<'static, str>>) {
        self.add(from, PartKind::Gap(why.into()));
    }

    fn text(&self, range: Range<usize>) -> &'a str {
        self.source.get(range).unwrap_or_default()
    }

    fn misread(&self, why: impl Into<Cow<'static, str>>) -> Misread {
        Misread { at: self.at, why: why.into() }
    }

    fn unexpected(&self, found: Option<u8>) -> Misread {
        match found {
            Some(_) => {
                let c = self.rest().chars().next().unwrap_or_default();
                self.misread(format!("`{}` is not expected there", c.escape_debug()))
            }
            None => self.misread("it ends too early"),
        }
    }
}

/// Whether an unquoted `byte` ends a word.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
