//! The reading end of a program's output: what is shown of it now, what stays of it, and the file for all of it.

use std::future;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::sleep_until;

use super::capture::{Capture, Shown};
use super::live::Live;
use super::spilling::{Spilled, Spilling};

/// Bytes taken at once; as many as a pipe holds.
const CHUNK: usize = 64 * 1024;

pub(super) struct Output<F> {
    pipe: Option<Receiver>,
    chunk: Box<[u8]>,
    total: u64,
    capture: Capture,
    live: Live<F>,
    spilling: Spilling,
}

/// An output that has come to its end.
pub(super) struct Taken {
    pub(super) text: String,
    pub(super) omitted: u64,
    pub(super) total: u64,
    pub(super) spilled: Option<Spilled>,
}

impl<F: FnMut(&str)> Output<F> {
    pub(super) fn new(pipe: PipeReader, spilling: Spilling, on_output: F) -> io::Result<Self> {
        let pipe = Some(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        let (chunk, capture, live) =
            (vec![0; CHUNK].into_boxed_slice(), Capture::default(), Live::new(on_output));
        Ok(Self { pipe, chunk, total: 0, capture, live, spilling })
    }

    /// Somebody may still write.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes or shows what is there, or waits until something is. Nothing is lost when it is dropped.
    pub(super) async fn take_some(&mut self) {
        self.spilling.room().await;
        let due = self.live.due();
        let shown_in_time = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => future::pending().await,
            }
        };
        let read = async {
            match &mut self.pipe {
                Some(pipe) => pipe.read(&mut self.chunk).await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            read = read => match read {
                Ok(count) if count > 0 => self.take(count),
                Ok(_) | Err(_) => self.pipe = None,
            },
            () = shown_in_time => self.live.show(),
        }
    }

    /// Takes everything up to the end of the output.
    pub(super) async fn take_rest(&mut self) {
        while self.is_open() {
            self.take_some().await;
        }
    }

    /// Takes what comes until it is dropped.
    pub(super) async fn take_for_ever(&mut self) {
        loop {
            self.take_some().await;
        }
    }

    fn take(&mut self, count: usize) {
        let bytes = self.chunk.get(..count).unwrap_or_default();
        self.total += count as u64;
        if !self.spilling.is_begun() && !self.capture.has_room(count) {
            self.spilling.begin(self.capture.pieces());
        }
        self.spilling.push(bytes);
        self.capture.push(bytes);
        self.live.push(bytes);
    }

    /// The text of it, and where all of it is.
    pub(super) async fn finish(mut self) -> Taken {
        self.live.finish();
        let total = self.total;
        if self.capture.is_binary() && !self.spilling.is_begun() {
            self.spilling.begin(self.capture.pieces());
        }
        let shown = self.capture.into_shown();
        let spilled = self.spilling.finish().await;
        let place = match &spilled {
            None => String::new(),
            Some(Err(error)) => format!("; it could not be kept: {error}"),
            Some(Ok(Spilled { path, left_out: 0 })) => format!("; all of it is in {}", path.display()),
            Some(Ok(Spilled { path, left_out })) => {
                format!("; all of it but the last {left_out} bytes is in {}", path.display())
            }
        };
        let (text, omitted) = match shown {
            Shown::Whole(text) => (text, 0),
            Shown::Binary => (format!("[binary output of {total} bytes, not shown{place}]"), total),
            Shown::Ends { head, lines, omitted, tail } => {
                let offset = match &spilled {
                    Some(Ok(_)) => format!(": Read it with offset {}", lines + 1),
                    _ => String::new(),
                };
                let break_before = if head.ends_with('\n') { "" } else { "\n" };
                let middle =
                    format!("{break_before}[... {omitted} bytes left out here{place}{offset} ...]\n");
                ([head, middle, tail].concat(), omitted)
            }
        };
        Taken { text, omitted, total, spilled: spilled.and_then(Result::ok) }
    }
}
