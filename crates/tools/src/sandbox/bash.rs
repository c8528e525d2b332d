//! Bash in a sandbox.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use robota_core::{Access, Tool, ToolContext, ToolResult, ToolSpec};
use tokio::time::Instant;

use super::error::{SandboxError, SandboxErrorKind};
use super::place;
use super::port::{Sandbox, SandboxFileKind, SandboxRunOptions, SandboxRunResult};
use super::showing::{run_and_show, shown};
use super::tree;
use crate::bash::{self, BashInput};
use crate::failure::Failure;
use crate::process::Finished;
use crate::workspace::Workspace;

/// Bytes shown of an output.
const SHOWN: usize = 29 * 1024;
/// The folder for outputs that are longer, below the root: a place that Read reaches.
const OUTPUTS: &str = ".robota/outputs";
/// Has git leave out what lies beside it.
const IGNORE_ALL: &str = "*\n";

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
        vec![Access::Command {
            command: input.command.clone(),
            cwd: input.directory(&self.workspace).to_owned(),
        }]
    }

    async fn run(self: Arc<Self>, input: BashInput, context: ToolContext) -> ToolResult {
        if let Err(failure) = input.check() {
            return Ok(failure.into());
        }
        let directory = input.directory(&self.workspace).to_owned();
        let moves = input.working_directory.is_none();
        if moves && let Err(failure) = self.check_directory(&directory).await {
            return Ok(failure.into());
        }
        let limit = input.limit_ms();
        let options = SandboxRunOptions {
            timeout: Duration::from_millis(limit),
            working_directory: Some(directory.clone()),
            environment: self.environment.clone(),
            merge_output: true,
            output_limit: SHOWN,
            report_folder: moves,
            whole_output: context.spill().map(|_| self.output_file()),
        };
        let started = Instant::now();
        let result = run_and_show(&*self.sandbox, &input.command, options, &context).await;
        let mut result = match result {
            Ok(result) => result,
            Err(error) => return Ok(failure(&error).into()),
        };
        let mut notes = Vec::new();
        notes.extend(self.tell_of_file(&result).await);
        if let Some(told) = result.last_folder.take().filter(|_| moves) {
            notes.extend(self.follow(&directory, &told).await);
        }
        let finished = finished(result, started.elapsed());
        Ok(bash::report(finished, limit, &self.workspace.current_dir(), notes))
    }
}

impl SandboxBash {
    /// A session whose folder is gone goes back to where it can go on; the command was not meant for there.
    async fn check_directory(&self, directory: &Path) -> Result<(), Failure> {
        let root = self.workspace.root();
        if directory == root {
            return Ok(());
        }
        match self.sandbox.stat(directory).await {
            Ok(found) if found.kind != SandboxFileKind::Folder => {}
            Err(error)
                if matches!(error.kind(), SandboxErrorKind::NotFound | SandboxErrorKind::WrongKind) => {}
            // What else is wrong shows when it runs.
            Ok(_) | Err(_) => return Ok(()),
        }
        self.workspace.settle(root.to_owned());
        let (directory, root) = (directory.to_string_lossy(), root.to_string_lossy());
        let message = format!("not run: the folder {directory} is gone; the next command runs in {root}");
        Err(Failure::new("not_found", message))
    }

    /// Takes the session to where the shell has gone from `directory`; where it must not go, it stays, and the note
    /// says so.
    async fn follow(&self, directory: &Path, told: &Path) -> Option<String> {
        if told == directory {
            return None;
        }
        if let Ok(folder) = place::inside(self.workspace.root(), told)
            && self.sandbox.stat(&folder).await.is_ok_and(|found| found.kind == SandboxFileKind::Folder)
        {
            self.workspace.settle(folder);
            return None;
        }
        let (told, directory) = (told.to_string_lossy(), directory.to_string_lossy());
        Some(format!("{told} is no folder of the workspace; the next command runs in {directory} again"))
    }

    /// A file that is not there yet.
    fn output_file(&self) -> PathBuf {
        let name = format!("{}.txt", tree::unique(""));
        self.workspace.root().join(OUTPUTS).join(name)
    }

    /// Where the whole output is, when the output itself does not say so.
    async fn tell_of_file(&self, result: &SandboxRunResult) -> Option<String> {
        let whole = result.whole_output.as_ref()?;
        let ignored = self.workspace.root().join(OUTPUTS).join(".gitignore");
        if self.sandbox.stat(&ignored).await.is_err()
            && let Err(error) = self.sandbox.write_file(&ignored, IGNORE_ALL.into()).await
        {
            tracing::debug!(%error, "outputs show up in git");
        }
        let path = whole.path.to_string_lossy();
        if result.stdout.contains(&*path) {
            return None;
        }
        Some(match whole.left_out {
            0 => format!("all of the output is in {path}"),
            left_out => format!("all of the output but the last {left_out} bytes is in {path}"),
        })
    }
}

fn finished(result: SandboxRunResult, duration: Duration) -> Finished {
    let output = shown(result.stdout + &result.stderr);
    Finished {
        ending: result.ending,
        output,
        omitted_bytes: result.omitted_bytes,
        output_bytes: 0,
        spilled: result.whole_output,
        last_directory: None,
        left_behind: result.left_behind,
        duration,
    }
}

fn failure(error: &SandboxError) -> Failure {
    let code = match error.kind() {
        SandboxErrorKind::Cancelled => return Failure::cancelled(),
        SandboxErrorKind::InvalidPath | SandboxErrorKind::WrongKind | SandboxErrorKind::NotFound => {
            "invalid_argument"
        }
        SandboxErrorKind::NotPermitted => "no_permission",
        // It may have run.
        SandboxErrorKind::Transport | SandboxErrorKind::Protocol | SandboxErrorKind::Timeout => "network",
        _ => "not_started",
    };
    Failure::new(code, error.to_string())
}
