//! A program that is told something and answers: text on its standard input, its two outputs kept apart.

use std::any::Any;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::supervise::{DRAIN, ending_of};
use super::{CommandLine, Confine, Confined, Ending, RunError, Verdict, orphans};

/// Bytes kept of each output.
pub(crate) const KEPT: usize = 1024 * 1024;
/// Bytes taken at once.
const CHUNK: usize = 32 * 1024;

/// A program that has ended, with everything that it had started in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchanged {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote to standard output.
    pub stdout: Printed,
    /// What it wrote to standard error.
    pub stderr: Printed,
}

/// The beginning of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// At most 1 MiB; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Bytes that came after it.
    pub omitted: u64,
}

/// Runs `command` with `input` on its standard input, which it need not read.
///
/// It ends when the program itself does: what that has left behind in its process group is killed then. The
/// rest is as in [`run`](super::run), the deadline and the end of a dropped call included.
///
/// # Errors
///
/// When the program cannot be started or waited for.
///
/// # Panics
///
/// Outside a tokio runtime with time and I/O enabled.
pub async fn exchange(
    command: CommandLine,
    input: Vec<u8>,
    cancel: &CancellationToken,
) -> Result<Exchanged, RunError> {
    let (allowed, outputs) = (command.timeout, [Output::keep(), Output::keep()]);
    converse(Exchange::start(Confined::plain(command), Some(input), outputs)?, allowed, cancel).await
}

/// Takes the bytes of an output as they appear.
pub(crate) type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// Runs `command` without input, confined where `confinement` says how; its standard output and its standard error
/// go to `sinks`. The rest is as in [`exchange`].
pub(crate) async fn observe(
    command: CommandLine,
    confinement: Option<&dyn Confine>,
    cancel: &CancellationToken,
    sinks: [Sink; 2],
) -> Result<Ending, RunError> {
    let allowed = command.timeout;
    let confined = Confined::by(confinement, command)?;
    let exchange = Exchange::start(confined, None, sinks.map(Output::pass))?;
    Ok(converse(exchange, allowed, cancel).await?.ending)
}

async fn converse(
    exchange: Exchange,
    allowed: Duration,
    cancel: &CancellationToken,
) -> Result<Exchanged, RunError> {
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let supervised = tokio::spawn(exchange.supervise(allowed, stop));
    supervised.await.unwrap_or_else(|error| Err(RunError::Lost(io::Error::other(error))))
}

struct Exchange {
    group: Group,
    input: Input,
    stdout: Output,
    stderr: Output,
    started: Instant,
    /// Says whether it was confined.
    verdict: Option<Verdict>,
    /// What confines the program.
    _keep: Option<Box<dyn Any + Send>>,
}

impl Exchange {
    /// Starts a program in a session of its own; without `input` it gets what confines it, or nothing.
    fn start(
        confined: Confined,
        input: Option<Vec<u8>>,
        [mut stdout, mut stderr]: [Output; 2],
    ) -> Result<Self, RunError> {
        let Confined { command, stdin, keep, verdict } = confined;
        let failed = |source| RunError::Start { program: command.program.clone(), source };
        let (output_pipe, their_output) = io::pipe().map_err(failed)?;
        let (error_pipe, their_errors) = io::pipe().map_err(failed)?;
        let (their_input, input) = match input {
            Some(input) => Input::open(input).map_err(failed)?,
            None => (stdin.map_or_else(Stdio::null, Stdio::from), Input::none()),
        };
        stdout.read_from(output_pipe).map_err(failed)?;
        stderr.read_from(error_pipe).map_err(failed)?;
        let stdio = [their_input, their_output.into(), their_errors.into()];
        let group = Group::start(&command, stdio).map_err(failed)?;
        Ok(Self { group, input, stdout, stderr, started: Instant::now(), verdict, _keep: keep })
    }

    async fn supervise(mut self, allowed: Duration, stop: CancellationToken) -> Result<Exchanged, RunError> {
        let deadline = self.started + allowed;
        let ending = loop {
            tokio::select! {
                () = stop.cancelled() => break Ending::Cancelled,
                status = self.group.wait() => break ending_of(status.map_err(RunError::Lost)?),
                () = sleep_until(deadline) => break Ending::TimedOut,
                () = self.input.give_some(), if self.input.is_open() => {}
                () = self.stdout.take_some(), if self.stdout.is_open() => {}
                () = self.stderr.take_some(), if self.stderr.is_open() => {}
            }
        };
        self.input.close();
        match ending {
            Ending::Cancelled | Ending::TimedOut => self.group.end().await,
            // What has been written reaches us before those are killed who may be about to pass it on.
            Ending::Exited(_) | Ending::Signalled(_) => {
                self.drain().await;
                if !self.group.is_group_gone() {
                    self.group.kill_rest().await;
                }
            }
        }
        self.drain().await;
        self.group.release();
        orphans::reap_all();
        if let (Ending::Exited(_), Some(verdict)) = (ending, self.verdict.take()) {
            verdict()?;
        }
        Ok(Exchanged { ending, stdout: self.stdout.into_printed(), stderr: self.stderr.into_printed() })
    }

    /// Takes what is left of both outputs, for a while: somebody may hold them for ever.
    async fn drain(&mut self) {
        let both = async { tokio::join!(self.stdout.take_rest(), self.stderr.take_rest()) };
        let _drained_or_not = timeout(DRAIN, both).await;
    }
}

/// The writing end of a program's standard input.
struct Input {
    pipe: Option<Sender>,
    text: Vec<u8>,
    given: usize,
}

impl Input {
    /// A pipe to give `text` through, and the end of it that belongs to the program.
    fn open(text: Vec<u8>) -> io::Result<(Stdio, Self)> {
        let (theirs, pipe) = io::pipe()?;
        let pipe = Sender::from_owned_fd(OwnedFd::from(pipe))?;
        Ok((Stdio::from(theirs), Self { pipe: Some(pipe), text, given: 0 }))
    }

    fn none() -> Self {
        Self { pipe: None, text: Vec::new(), given: 0 }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn close(&mut self) {
        self.pipe = None;
    }

    /// Gives as much as fits, or waits until something does. A program that does not want it is no error.
    async fn give_some(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let rest = self.text.get(self.given..).unwrap_or_default();
        match pipe.write(rest).await {
            Ok(count) if count > 0 => self.given += count,
            Ok(_) | Err(_) => self.close(),
        }
    }
}

/// The reading end of an output.
struct Output {
    pipe: Option<Receiver>,
    chunk: Box<[u8]>,
    kept: Vec<u8>,
    omitted: u64,
    /// Where everything goes in place of being kept.
    sink: Option<Sink>,
}

impl Output {
    /// One whose beginning is kept.
    fn keep() -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Self { pipe: None, chunk, kept: Vec::new(), omitted: 0, sink: None }
    }

    /// One that is passed on.
    fn pass(sink: Sink) -> Self {
        Self { sink: Some(sink), ..Self::keep() }
    }

    fn read_from(&mut self, pipe: PipeReader) -> io::Result<()> {
        self.pipe = Some(Receiver::from_owned_fd(OwnedFd::from(pipe))?);
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes what is there, or waits until something is. Nothing is lost when it is dropped.
    async fn take_some(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.chunk).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => {
                let bytes = self.chunk.get(..count).unwrap_or_default();
                if let Some(sink) = &mut self.sink {
                    return sink(bytes);
                }
                let (first, rest) = bytes.split_at(count.min(KEPT - self.kept.len()));
                self.kept.extend_from_slice(first);
                self.omitted += rest.len() as u64;
            }
        }
    }

    async fn take_rest(&mut self) {
        while self.is_open() {
            self.take_some().await;
        }
    }

    fn into_printed(self) -> Printed {
        let text = String::from_utf8(self.kept);
        let text = text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Printed { text, omitted: self.omitted }
    }
}
