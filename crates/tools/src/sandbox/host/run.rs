//! Commands in a folder of this machine.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::{OutputSpill, SpillFile};
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::output::{Output, WHOLE_OUTPUT};
use super::super::port::{OutputListener, OutputStream, Sandbox, SandboxRunOptions, SandboxRunResult};
use super::{HostSandbox, Shared};
use crate::process::{self, CommandLine, FinalFolder, RunError, Sink};

impl HostSandbox {
    pub(super) async fn run_in_shell(
        &self,
        command: &str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &CancellationToken,
    ) -> Result<SandboxRunResult, SandboxError> {
        let (line, folder) = self.command_line(command, &options).await?;
        let confinement = self.shared.confinement.as_deref();
        if options.merge_output {
            let show = move |text: &str| {
                if let Some(listener) = &listener {
                    listener(OutputStream::Stdout, text);
                }
            };
            let spill = options.whole_output.map(|path| WholeOutput::at(path, &self.shared));
            let finished =
                process::run_and_keep(line, confinement, spill, cancel, show).await.map_err(not_run)?;
            let killed_in = finished.last_directory.filter(|_| options.report_folder);
            return Ok(SandboxRunResult {
                stdout: finished.output,
                omitted_bytes: finished.omitted_bytes,
                left_behind: finished.left_behind,
                last_folder: folder.and_then(FinalFolder::read).or(killed_in),
                whole_output: finished.spilled,
                ..SandboxRunResult::ended(finished.ending)
            });
        }
        let collect = |stream| {
            let output = Output::new(stream, options.output_limit, listener.clone());
            Arc::new(Mutex::new(Some(output)))
        };
        let (stdout, stderr) = (collect(OutputStream::Stdout), collect(OutputStream::Stderr));
        let sinks = [sink_of(&stdout), sink_of(&stderr)];
        let ending = process::observe(line, confinement, cancel, sinks).await.map_err(not_run)?;
        let ((stdout, before), (stderr, after)) = (finish(&stdout), finish(&stderr));
        let omitted_bytes = before + after;
        let last_folder = folder.and_then(FinalFolder::read);
        Ok(SandboxRunResult { stdout, stderr, omitted_bytes, last_folder, ..SandboxRunResult::ended(ending) })
    }

    /// The command as it is started, and how it tells where it ended.
    async fn command_line(
        &self,
        command: &str,
        options: &SandboxRunOptions,
    ) -> Result<(CommandLine, Option<FinalFolder>), SandboxError> {
        if command.contains('\0') {
            let message = "the command contains a NUL character";
            return Err(SandboxError::new(SandboxErrorKind::Failed, message));
        }
        let written = options.working_directory.clone().unwrap_or_else(|| self.root().to_owned());
        let directory = self.blocking(move |shared| {
            let folder = shared.resolve(&written)?;
            if shared.workspace.is_folder(&folder) { Ok(folder) } else { Err(no_folder(&written)) }
        });
        let given = options.environment.iter();
        let given: Vec<_> =
            given.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let mut environment = self.shared.environment.clone();
        environment.retain(|(name, _)| !given.iter().any(|(other, _)| other == name));
        environment.extend(given);
        let directory = directory.await?;
        let (shell, is_confined) = (&self.shared.shell, self.shared.confinement.is_some());
        let prepare = || FinalFolder::prepare(shell, command, &mut environment, is_confined);
        let folder = options.report_folder.then(prepare).flatten();
        let command = folder.as_ref().map_or(command, FinalFolder::command);
        let line = CommandLine {
            program: self.shared.shell.clone(),
            arguments: vec!["-c".into(), command.into()],
            directory,
            environment,
            timeout: options.timeout,
        };
        Ok((line, folder))
    }
}

/// Where the whole output of a command goes: a file of the sandbox.
struct WholeOutput {
    path: PathBuf,
    shared: Arc<Shared>,
}

/// The output on its way there, held in memory so that the file appears whole.
struct Collected {
    path: PathBuf,
    shared: Arc<Shared>,
    bytes: Vec<u8>,
}

impl WholeOutput {
    fn at(path: PathBuf, shared: &Arc<Shared>) -> (Arc<dyn OutputSpill>, Arc<str>) {
        (Arc::new(Self { path, shared: Arc::clone(shared) }), Arc::from("output"))
    }
}

impl OutputSpill for WholeOutput {
    fn begin(&self, _: &str) -> io::Result<Box<dyn SpillFile>> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(Collected { path: self.path.clone(), shared, bytes: Vec::new() }))
    }
}

impl io::Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillFile for Collected {
    fn path(&self) -> &Path {
        &self.path
    }

    fn capacity(&self) -> u64 {
        WHOLE_OUTPUT as u64
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.shared.write(&self.path, &self.bytes).map(drop).map_err(SandboxError::into_io)
    }
}

fn no_folder(path: &Path) -> SandboxError {
    let message = format!("cannot run in {}: it is not a folder", path.display());
    SandboxError::new(SandboxErrorKind::WrongKind, message)
}

pub(super) fn not_run(error: RunError) -> SandboxError {
    let kind = match error {
        RunError::Confine(_) => SandboxErrorKind::NotPermitted,
        RunError::Start { .. } | RunError::Lost(_) => SandboxErrorKind::Failed,
    };
    SandboxError::new(kind, error.to_string()).with_source(error)
}

fn sink_of(output: &Arc<Mutex<Option<Output>>>) -> Sink {
    let output = Arc::clone(output);
    Box::new(move |bytes| {
        if let Some(output) = output.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            output.push(bytes);
        }
    })
}

fn finish(output: &Mutex<Option<Output>>) -> (String, u64) {
    let output = output.lock().unwrap_or_else(PoisonError::into_inner).take();
    output.map(Output::finish).unwrap_or_default()
}
