//! Bash in a sandbox.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_core::{Access, Tool, ToolContext, ToolResult, ToolSpec};
use tokio::time::Instant;

use super::error::{SandboxError, SandboxErrorKind};
use super::port::{OutputListener, Sandbox, SandboxRunOptions};
use crate::bash::{self, BashInput, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS};
use crate::failure::Failure;
use crate::process::Finished;
use crate::workspace::Workspace;

/// Bytes shown of an output.
const SHOWN: usize = 29 * 1024;

pub(super) struct SandboxBash {
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) workspace: Workspace,
    pub(super) environment: BTreeMap<String, String>,
}

impl Tool for SandboxBash {
    type Input = BashInput;

    fn describe(&self) -> ToolSpec {
        bash::spec()
    }

    fn access(&self, input: &BashInput) -> Vec<Access> {
        vec![Access::Command { command: input.command.clone(), cwd: self.directory(input) }]
    }

    async fn run(self: Arc<Self>, input: BashInput, context: ToolContext) -> ToolResult {
        if input.command.trim().is_empty() || input.command.contains('\0') {
            let message = "the command is empty or contains a NUL character";
            return Ok(Failure::new("invalid_argument", message).into());
        }
        // Models write 0 for no limit of their own.
        let asked = input.timeout.filter(|limit| limit.0 > 0);
        let limit = asked.map_or(DEFAULT_TIMEOUT_MS, |limit| limit.0.min(MAX_TIMEOUT_MS));
        let options = SandboxRunOptions {
            timeout: Duration::from_millis(limit),
            working_directory: Some(self.directory(&input)),
            environment: self.environment.clone(),
            merge_output: true,
            output_limit: SHOWN,
        };
        let progress = context.clone();
        let listener: OutputListener = Arc::new(move |_, text| progress.progress(text));
        let started = Instant::now();
        let result = self.sandbox.run(&input.command, options, Some(listener), &context.cancel).await;
        let result = match result {
            Ok(result) => result,
            Err(error) => return Ok(failure(&error).into()),
        };
        let mut output = result.stdout;
        output.push_str(&result.stderr);
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
