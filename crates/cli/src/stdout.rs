//! Standard output and standard error: streams that a reader may close, or stop reading, at any time.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

/// Standard output for commands that only print; a closed pipe ends the writing, not the program.
pub(crate) struct Output {
    writer: BufWriter<io::Stdout>,
    failure: Option<io::Error>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { writer: BufWriter::new(io::stdout()), failure: None }
    }

    /// Writes `text`.
    pub(crate) fn write(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = self.writer.write_all(text.as_bytes()).err();
        }
    }

    /// Writes `line` and a line end.
    pub(crate) fn line(&mut self, line: &str) {
        self.write(line);
        self.write("\n");
    }

    /// Hands on what was written so far.
    pub(crate) fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.writer.flush().err();
        }
    }

    /// True when nothing can be written any more.
    pub(crate) fn is_over(&self) -> bool {
        self.failure.is_some()
    }

    /// Hands on everything.
    ///
    /// # Errors
    ///
    /// The first failure of the stream, unless its reader had simply seen enough.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.failure.map_or(Ok(()), unless_closed)
    }
}

/// For documents; a failure is kept for [`finish`](Output::finish).
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failure.is_none() {
            match self.writer.write(bytes) {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => self.failure = Some(error),
            }
        }
        Err(io::Error::other("standard output cannot be written"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::flush(self);
        if self.is_over() { Err(io::Error::other("standard output cannot be written")) } else { Ok(()) }
    }
}

/// Writes one line to standard error, if anybody listens.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Both streams on a thread of their own, in the order they are written to.
///
/// A turn goes on, and signals are heard, while a reader holds a stream up.
pub(crate) struct Printer {
    queue: mpsc::Sender<Piece>,
    done: oneshot::Receiver<io::Result<()>>,
}

enum Piece {
    Out(String),
    Err(String),
}

impl Printer {
    pub(crate) fn start() -> Self {
        let (queue, pieces) = mpsc::channel();
        let (finished, done) = oneshot::channel();
        thread::spawn(move || finished.send(print_all(&pieces)));
        Self { queue, done }
    }

    /// Writes `text` to standard output.
    pub(crate) fn out(&self, text: impl Into<String>) {
        let _ = self.queue.send(Piece::Out(text.into()));
    }

    /// Writes `line` and a line end to standard error.
    pub(crate) fn err(&self, line: &str) {
        let _ = self.queue.send(Piece::Err(format!("{line}\n")));
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    ///
    /// The first failure of standard output, unless its reader had simply seen enough.
    pub(crate) async fn finish(self) -> io::Result<()> {
        let Self { queue, done } = self;
        drop(queue);
        done.await.unwrap_or(Ok(()))
    }
}

fn print_all(pieces: &mpsc::Receiver<Piece>) -> io::Result<()> {
    let mut out = io::stdout();
    let mut failure = None;
    for piece in pieces {
        match piece {
            Piece::Out(text) if failure.is_none() => {
                failure = out.write_all(text.as_bytes()).and_then(|()| out.flush()).err();
            }
            Piece::Out(_) => {}
            Piece::Err(line) => {
                let _ = io::stderr().write_all(line.as_bytes());
            }
        }
    }
    failure.map_or(Ok(()), unless_closed)
}

fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
