//! A running program: its output is taken, its end awaited, its group ended when need be.

use std::any::Any;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Output;
use super::group::Group;
use super::{Confined, Ending, Finished, RunError, Verdict};

/// Between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long output is still taken after the program itself has ended.
pub(super) const DRAIN: Duration = Duration::from_millis(250);
/// How often an ending group is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// How long the kernel gets to end a killed program.
pub(super) const REAP: Duration = Duration::from_secs(5);

pub(super) struct Supervisor<F> {
    child: Box<dyn ChildWrapper>,
    group: Group,
    output: Output<F>,
    started: Instant,
    verdict: Option<Verdict>,
    /// What confines the program.
    _keep: Option<Box<dyn Any + Send>>,
}

/// Starts `command` in a session of its own.
pub(super) fn start<F: FnMut(&str)>(confined: Confined, on_output: F) -> Result<Supervisor<F>, RunError> {
    let Confined { command, stdin, keep, verdict } = confined;
    let failed = |source| RunError::Start { program: command.program.clone(), source };
    let (reader, writer) = io::pipe().map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    let output = Output::new(reader, on_output).map_err(failed)?;
    // Dropping the wrapped command closes our ends of the pipe that belong to the child.
    let child = CommandWrap::with_new(&command.program, |inner| {
        inner.args(&command.arguments).current_dir(&command.directory);
        inner.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
        inner.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).stdout(writer).stderr(errors);
    })
    .wrap(KillOnDrop)
    .wrap(ProcessSession)
    .spawn()
    .map_err(failed)?;
    let group = Group::led_by(child.id()).map_err(failed)?;
    Ok(Supervisor { child, group, output, started: Instant::now(), verdict, _keep: keep })
}

impl<F: FnMut(&str)> Supervisor<F> {
    pub(super) async fn supervise(
        mut self,
        allowed: Duration,
        stop: CancellationToken,
    ) -> Result<Finished, RunError> {
        let deadline = self.started + allowed;
        let ending = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ending::Cancelled,
                status = self.child.wait() => break ending_of(status.map_err(RunError::Lost)?),
                () = sleep_until(deadline) => break Ending::TimedOut,
                () = self.output.take_some(), if self.output.is_open() => {}
            }
        };
        if matches!(ending, Ending::Cancelled | Ending::TimedOut) {
            self.end_group().await;
        }
        // A program left in the background may hold the pipe for ever.
        let _drained_or_not = timeout(DRAIN, self.output.take_rest()).await;
        self.group.release();
        if let (Ending::Exited(_), Some(verdict)) = (ending, self.verdict.take()) {
            verdict()?;
        }
        let left_behind = self.output.is_open();
        let (output, omitted_bytes) = self.output.into_text();
        Ok(Finished { ending, output, omitted_bytes, left_behind, duration: self.started.elapsed() })
    }

    /// TERM, up to two seconds of grace for every member, KILL.
    async fn end_group(&mut self) {
        self.group.terminate();
        let kill_at = Instant::now() + GRACE;
        let mut reaped = false;
        while !(reaped && self.group.is_gone()) {
            tokio::select! {
                biased;
                () = sleep_until(kill_at) => {
                    self.group.kill();
                    let _reaped_or_not = timeout(REAP, self.child.wait()).await;
                    return;
                }
                _ = self.child.wait(), if !reaped => reaped = true,
                () = self.output.take_some(), if self.output.is_open() => {}
                () = sleep(LOOK) => {}
            }
        }
    }
}

pub(super) fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        // A stopped or continued program is not an ended one, so that this is out of reach.
        (None, None) => Ending::Exited(-1),
    }
}
