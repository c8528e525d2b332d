//! Commands in a folder of this machine.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::output::Output;
use super::super::port::{OutputListener, OutputStream, Sandbox, SandboxRunOptions, SandboxRunResult};
use super::HostSandbox;
use crate::process::{self, CommandLine, RunError, Sink};

impl HostSandbox {
    pub(super) async fn run_in_shell(
        &self,
        command: &str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &CancellationToken,
    ) -> Result<SandboxRunResult, SandboxError> {
        let line = self.command_line(command, &options).await?;
        let confinement = self.shared.confinement.as_deref();
        if options.merge_output {
            let show = move |text: &str| {
                if let Some(listener) = &listener {
                    listener(OutputStream::Stdout, text);
                }
            };
            let finished = process::run(line, confinement, cancel, show).await.map_err(not_run)?;
            return Ok(SandboxRunResult {
                stdout: finished.output,
                stderr: String::new(),
                ending: finished.ending,
                omitted_bytes: finished.omitted_bytes,
                left_behind: finished.left_behind,
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
        Ok(SandboxRunResult { stdout, stderr, ending, omitted_bytes, left_behind: false })
    }

    async fn command_line(
        &self,
        command: &str,
        options: &SandboxRunOptions,
    ) -> Result<CommandLine, SandboxError> {
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
        Ok(CommandLine {
            program: self.shared.shell.clone(),
            arguments: vec!["-c".into(), command.into()],
            directory: directory.await?,
            environment,
            timeout: options.timeout,
        })
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
