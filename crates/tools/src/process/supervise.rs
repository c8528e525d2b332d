//! A running program: its output is taken, its end awaited, its family ended when need be.

use std::any::Any;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::group::Group;
use super::output::Output;
use super::spilling::Spilling;
use super::{Confined, Ending, Finished, RunError, Verdict, orphans};

/// How long output is still taken after the program itself has ended.
pub(super) const DRAIN: Duration = Duration::from_millis(250);

pub(super) struct Supervisor<F> {
    group: Group,
    output: Output<F>,
    started: Instant,
    verdict: Option<Verdict>,
    /// What confines the program.
    _keep: Option<Box<dyn Any + Send>>,
}

/// Starts `command` in a session of its own.
pub(super) fn start<F: FnMut(&str)>(
    confined: Confined,
    spilling: Spilling,
    on_output: F,
) -> Result<Supervisor<F>, RunError> {
    let Confined { command, stdin, keep, verdict } = confined;
    let failed = |source| RunError::Start { program: command.program.clone(), source };
    let (reader, writer) = io::pipe().map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    let output = Output::new(reader, spilling, on_output).map_err(failed)?;
    let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
    let group = Group::start(&command, [stdin, writer.into(), errors.into()]).map_err(failed)?;
    Ok(Supervisor { group, output, started: Instant::now(), verdict, _keep: keep })
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
                status = self.group.wait() => break ending_of(status.map_err(RunError::Lost)?),
                () = sleep_until(deadline) => break Ending::TimedOut,
                () = self.output.take_some() => {}
            }
        };
        let mut last_directory = None;
        if matches!(ending, Ending::Cancelled | Ending::TimedOut) {
            last_directory = directory_of(&self.group);
            tokio::select! {
                () = self.group.end() => {}
                () = self.output.take_for_ever() => {}
            }
        }
        // A program left in the background may hold the pipe for ever.
        let _drained_or_not = timeout(DRAIN, self.output.take_rest()).await;
        self.group.release();
        orphans::reap_all();
        if let (Ending::Exited(_), Some(verdict)) = (ending, self.verdict.take()) {
            verdict()?;
        }
        let left_behind = self.output.is_open();
        let taken = self.output.finish().await;
        let duration = self.started.elapsed();
        Ok(Finished {
            ending,
            output: taken.text,
            omitted_bytes: taken.omitted,
            output_bytes: taken.total,
            spilled: taken.spilled,
            left_behind,
            last_directory,
            duration,
        })
    }
}

/// The folder that the program is in, as long as it runs.
fn directory_of(group: &Group) -> Option<PathBuf> {
    let leader = group.leader().as_raw_nonzero();
    std::fs::read_link(format!("/proc/{leader}/cwd")).ok().filter(|folder| folder.is_dir())
}

pub(super) fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        // A stopped or continued program is not an ended one, so that this is out of reach.
        (None, None) => Ending::Exited(-1),
    }
}
