//! Here-documents.

use super::{Reader, Step};

/// The most here-documents in one command line.
const MOST: usize = 8;

/// A here-document that waits for its body.
pub(super) struct HereDocument<'a> {
    delimiter: &'a str,
    /// Whether nothing in the body is expanded.
    is_literal: bool,
    strips_tabs: bool,
}

impl<'a> Reader<'a> {
    /// Reads the delimiter behind `<<` or `<<-`.
    pub(super) fn here_document(&mut self, strips_tabs: bool) -> Step {
        self.script.is_deep = true;
        self.here_documents += 1;
        if self.here_documents > MOST {
            return Err(self.misread("it has too many here-documents to be understood"));
        }
        self.blanks();
        let word = self.bare_word();
        let unquoted = ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
        let delimiter = unquoted.unwrap_or(word);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if delimiter.is_empty() || !delimiter.bytes().all(is_plain) {
            return Err(self.misread("the end of the here-document cannot be told"));
        }
        self.at += word.len();
        self.pending.push(HereDocument { delimiter, is_literal: unquoted.is_some(), strips_tabs });
        Ok(())
    }

    /// Reads the bodies that wait, at the beginning of a line.
    pub(super) fn here_document_bodies(&mut self) -> Step {
        for document in std::mem::take(&mut self.pending) {
            let from = self.at;
            let end = self.body_end(&document)?;
            if document.is_literal {
                self.script.literal_bodies.push(from..end);
            } else {
                let outer = (self.context, self.end);
                self.context = self.script.add_context(self.context, "here-document");
                self.end = end;
                self.expanded_body(from)?;
                (self.context, self.end) = outer;
            }
            let line = self.source.get(end..self.end).unwrap_or_default();
            self.at = end + line.find('\n').map_or(line.len(), |newline| newline + 1);
        }
        Ok(())
    }

    /// Where the line with the delimiter begins.
    fn body_end(&self, document: &HereDocument<'a>) -> Step<usize> {
        let mut at = self.at;
        for line in self.rest().split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = if document.strips_tabs { text.trim_start_matches('\t') } else { text };
            if text == document.delimiter {
                return Ok(at);
            }
            if !document.is_literal && text.ends_with('\\') {
                return Err(self.misread("a line of the here-document is continued"));
            }
            at += line.len();
        }
        Err(self.misread(format!("the here-document does not end with `{}`", document.delimiter)))
    }

    /// Reads what is expanded in a body.
    fn expanded_body(&mut self, from: usize) -> Step {
        self.at = from;
        let mut ignored = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8),
                b'`' => return Err(self.misread("backquotes in a here-document are not understood")),
                b'$' => {
                    self.dollar(&mut ignored, true)?;
                    ignored.clear();
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    /// A list must not end while a here-document waits for its body.
    pub(super) fn check_pending(&self) -> Step {
        if self.pending.is_empty() { Ok(()) } else { Err(self.misread("a here-document has no body")) }
    }
}
