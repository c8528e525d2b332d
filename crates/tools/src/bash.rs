//! Bash: runs a command line in a shell.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::Failure;
use crate::input::{PathInput, WholeNumber};
use crate::process::{self, CommandLine, Confine, Ending, Finished};
use crate::workspace::Workspace;

pub(crate) const DEFAULT_TIMEOUT_MS: u64 = 120_000;
pub(crate) const MAX_TIMEOUT_MS: u64 = 600_000;

pub(crate) struct Bash {
    pub(crate) workspace: Workspace,
    pub(crate) shell: PathBuf,
    /// Complete, with interaction switched off.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) confinement: Option<Arc<dyn Confine>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BashInput {
    #[serde(alias = "cmd", alias = "script")]
    pub(crate) command: String,
    /// Milliseconds; default 120000, at most 600000.
    #[serde(default, alias = "timeout_ms", alias = "timeoutMs")]
    #[schemars(with = "WholeNumber")]
    pub(crate) timeout: Option<WholeNumber>,
    /// Folder to run in instead of the project folder.
    #[serde(default, alias = "working_directory", alias = "cwd", alias = "workdir")]
    #[schemars(with = "PathInput")]
    pub(crate) working_directory: Option<PathInput>,
}

/// What the model is told of Bash, wherever the commands run.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec::new(
            "Bash",
            ToolClass::Execute,
            "Runs a shell command and returns its merged stdout and stderr and how it ended. Each call is a new \
             shell: `cd` and variables do not persist. There is no stdin, so pass flags that avoid prompts. Long \
             output loses its middle. For a server, redirect its output to a file and end with `&`. Prefer Read, \
             Edit, Glob and Grep to cat, sed, find and grep.",
        )
        .with_spellings(&[
            ("command", &["cmd", "script"]),
            ("timeout", &["timeout_ms", "timeoutMs"]),
            ("working_directory", &["workingDirectory", "cwd", "workdir"]),
        ])
}

impl Tool for Bash {
    type Input = BashInput;

    fn describe(&self) -> ToolSpec {
        spec()
    }

    fn access(&self, input: &BashInput) -> Vec<Access> {
        vec![Access::Command { command: input.command.clone(), cwd: self.directory(input) }]
    }

    async fn run(self: Arc<Self>, input: BashInput, context: ToolContext) -> ToolResult {
        if input.command.trim().is_empty() || input.command.contains('\0') {
            let message = "the command is empty or contains a NUL character";
            return Ok(Failure::new("invalid_argument", message).into());
        }
        let directory = self.directory(&input);
        if let Err(failure) = self.check_directory(&directory) {
            return Ok(failure.into());
        }
        let limit = input.timeout.map_or(DEFAULT_TIMEOUT_MS, |limit| limit.0.clamp(1, MAX_TIMEOUT_MS));
        let command = CommandLine {
            program: self.shell.clone(),
            arguments: vec!["-c".into(), input.command.into()],
            directory,
            environment: self.environment.clone(),
            timeout: Duration::from_millis(limit),
        };
        let progress = context.clone();
        match process::run(command, self.confinement.as_deref(), &context.cancel, move |text| {
            progress.progress(text);
        })
        .await
        {
            Ok(finished) => Ok(report(finished, limit)),
            Err(error) => Ok(Failure::new("not_started", error.to_string()).into()),
        }
    }
}

impl Bash {
    fn directory(&self, input: &BashInput) -> PathBuf {
        match &input.working_directory {
            Some(path) => path.resolve(&self.workspace).to_owned(),
            None => self.workspace.current_dir(),
        }
    }

    fn check_directory(&self, directory: &Path) -> Result<(), Failure> {
        let shown = directory.to_string_lossy();
        match fs::metadata(directory) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => {
                Err(Failure::new("invalid_argument", format!("cannot run in {shown}: it is not a folder")))
            }
            Err(error) => Err(Failure::io("run in", &shown, &error)),
        }
    }
}

/// The output, and below it how the command ended where that is not plain success.
pub(crate) fn report(finished: Finished, limit_ms: u64) -> ToolOutcome {
    let Finished { ending, mut output, left_behind, duration, .. } = finished;
    output.truncate(output.trim_end().len());
    let mut facts =
        json!({"exitCode": null, "durationMs": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)});
    let (note, code) = match ending {
        Ending::Exited(code) => {
            facts["exitCode"] = code.into();
            if code == 0 { (String::new(), None) } else { (format!("exit code {code}"), Some("exit_code")) }
        }
        Ending::Signalled(signal) => {
            facts["signal"] = signal.into();
            let name = process::signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
            (format!("killed by signal {signal}{name}"), Some("signal"))
        }
        Ending::TimedOut => {
            facts["timedOut"] = true.into();
            (format!("timed out after {limit_ms} ms; its process group was ended"), Some("timed_out"))
        }
        Ending::Cancelled => ("cancelled; its process group was ended".to_owned(), Some("cancelled")),
    };
    if left_behind {
        append(
            &mut output,
            "a background process holds the output open and is no longer listened to; redirect its output to a file",
        );
    }
    if !note.is_empty() {
        append(&mut output, &note);
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    let outcome = if code.is_some() { ToolOutcome::failure(output) } else { ToolOutcome::success(output) };
    let outcome = outcome.with_structured(facts);
    match code {
        Some(code) => outcome.with_error_code(code),
        None => outcome,
    }
}

fn append(output: &mut String, note: &str) {
    if !output.is_empty() {
        output.push('\n');
    }
    // Writing to a string does not fail.
    let _ = write!(output, "[{note}]");
}
