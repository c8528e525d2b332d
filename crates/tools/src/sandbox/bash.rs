//! Bash in a sandbox.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_core::{Access, Tool, ToolContext, ToolResult, ToolSpec, harmless_text, is_binary};
use tokio::time::{Instant, sleep};

use super::error::{SandboxError, SandboxErrorKind};
use super::port::{OutputListener, Sandbox, SandboxRunOptions, SandboxRunResult};
use crate::bash::{self, BashInput, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS};
use crate::failure::Failure;
use crate::process::{Finished, Live};
use crate::workspace::Workspace;

/// Bytes shown of an output.
const SHOWN: usize = 29 * 1024;
/// How often it is looked whether output waits to be shown.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct SandboxBash {
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) workspace: Workspace,
    pub(super) environment: BTreeMap<String, String>,
}

impl Tool for SandboxBash {
    type Input = BashInput;

    fn describe(&self) -> ToolSpec {
        let mut spec = bash::spec();
        // The place of a command is not asked where it ended, and the output is cut before it gets here.
        "Runs a shell command and returns its merged stdout and stderr and how it ended. Each call is a new shell: \
         `cd` and variables do not persist. There is no stdin, so pass flags that avoid prompts. Long output loses its \
         middle. For a server, redirect its output to a file and end with `&`. Prefer Read, Edit, Glob and Grep to \
         cat, sed, find and grep."
            .clone_into(&mut spec.description);
        spec
    }

    fn access(&self, input: &BashInput) -> Vec<Access> {
        vec![Access::Command { command: input.command.clone(), cwd: self.directory(input) }]
    }

    async fn run(self: Arc<Self>, input: BashInput, context: ToolContext) -> ToolResult {
        if input.command.trim().is_empty() || input.command.contains('\0') {
            let message = "the command is empty or contains a NUL character";
            return Ok(Failure::new("invalid_argument", message).into());
        }
        let limit = input.timeout.map_or(DEFAULT_TIMEOUT_MS, |limit| limit.0.clamp(1, MAX_TIMEOUT_MS));
        let options = SandboxRunOptions {
            timeout: Duration::from_millis(limit),
            working_directory: Some(self.directory(&input)),
            environment: self.environment.clone(),
            merge_output: true,
            output_limit: SHOWN,
        };
        let started = Instant::now();
        let result = match self.run_and_show(&input.command, options, &context).await {
            Ok(result) => result,
            Err(error) => return Ok(failure(&error).into()),
        };
        let output = shown(result.stdout + &result.stderr);
        let finished = Finished {
            ending: result.ending,
            output,
            omitted_bytes: result.omitted_bytes,
            output_bytes: 0,
            spilled: None,
            last_directory: None,
            left_behind: result.left_behind,
            duration: started.elapsed(),
        };
        Ok(bash::report(finished, limit, &self.workspace.current_dir(), Vec::new()))
    }
}

impl SandboxBash {
    fn directory(&self, input: &BashInput) -> PathBuf {
        match &input.working_directory {
            Some(path) => path.resolve(&self.workspace).to_owned(),
            None => self.workspace.current_dir(),
        }
    }

    /// Runs `command`; what it says is shown as it appears, but never much of it.
    async fn run_and_show(
        &self,
        command: &str,
        options: SandboxRunOptions,
        context: &ToolContext,
    ) -> Result<SandboxRunResult, SandboxError> {
        let progress = context.clone();
        let live = Arc::new(Mutex::new(Some(Live::new(move |text: &str| progress.progress(text)))));
        let told = Arc::clone(&live);
        let listener: OutputListener = Arc::new(move |_, text: &str| {
            if let Some(live) = told.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                live.push(text.as_bytes());
            }
        });
        let running = self.sandbox.run(command, options, Some(listener), &context.cancel);
        tokio::pin!(running);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut running => break result,
                () = sleep(LOOK) => {
                    if let Some(live) = live.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
                        && live.due().is_some_and(|due| due <= Instant::now())
                    {
                        live.show();
                    }
                }
            }
        };
        if let Some(live) = live.lock().unwrap_or_else(PoisonError::into_inner).take() {
            live.finish();
        }
        result
    }
}

/// The output of a machine that may say anything, for the model.
fn shown(output: String) -> String {
    // What was no text has become a character that is.
    if is_binary(output.replace(char::REPLACEMENT_CHARACTER, "\0").as_bytes()) {
        return "[binary output, not shown]".to_owned();
    }
    match harmless_text(output.as_bytes()) {
        Cow::Borrowed(_) => output,
        Cow::Owned(harmless) => harmless,
    }
}

fn failure(error: &SandboxError) -> Failure {
    let code = match error.kind() {
        SandboxErrorKind::Cancelled => return Failure::cancelled(),
        SandboxErrorKind::InvalidPath | SandboxErrorKind::WrongKind | SandboxErrorKind::NotFound => {
            "invalid_argument"
        }
        SandboxErrorKind::NotPermitted => "no_permission",
        _ => "not_started",
    };
    Failure::new(code, error.to_string())
}
