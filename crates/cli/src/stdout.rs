//! Standard output that a reader may close at any time.

use std::io::{self, BufWriter, Stdout, Write};

/// Standard output; a closed pipe ends the writing, not the program.
///
/// A turn that runs when the reader goes away runs to its end, so that its session is whole.
pub(crate) struct Output {
    writer: BufWriter<Stdout>,
    closed: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { writer: BufWriter::new(io::stdout()), closed: false }
    }

    /// Writes `text` and hands it on at once.
    pub(crate) fn write(&mut self, text: &str) {
        if !self.closed {
            self.closed = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()).is_err();
        }
    }

    /// Writes `line` and a line end.
    pub(crate) fn line(&mut self, line: &str) {
        if !self.closed {
            self.closed = writeln!(self.writer, "{line}").and_then(|()| self.writer.flush()).is_err();
        }
    }
}

/// Writes one line to standard error, if anybody listens.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
