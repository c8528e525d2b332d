//! Bash: runs a command line in a shell.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{PathInput, WholeNumber};
use crate::process::{self, CommandLine, Confine, Ending, FinalFolder, Finished};
use crate::workspace::Workspace;

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

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
    timeout: Option<WholeNumber>,
    /// Folder for this call only.
    #[serde(default, alias = "working_directory", alias = "cwd", alias = "workdir")]
    #[schemars(with = "PathInput")]
    pub(crate) working_directory: Option<PathInput>,
    /// Where the session was when the call was judged.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) current: OnceLock<PathBuf>,
}

impl BashInput {
    /// Whether there is something that a shell can run.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.command.trim().is_empty() || self.command.contains('\0') {
            let message = "the command is empty or contains a NUL character";
            return Err(Failure::new("invalid_argument", message));
        }
        Ok(())
    }

    /// Where the command runs; the same however often it is asked for.
    pub(crate) fn directory(&self, workspace: &Workspace) -> &Path {
        match &self.working_directory {
            Some(path) => path.resolve(workspace),
            None => self.current.get_or_init(|| workspace.current_dir()),
        }
    }

    /// How long the command may run, in milliseconds.
    pub(crate) fn limit_ms(&self) -> u64 {
        // Models write 0 for no limit of their own.
        let asked = self.timeout.filter(|limit| limit.0 > 0);
        asked.map_or(DEFAULT_TIMEOUT_MS, |limit| limit.0.min(MAX_TIMEOUT_MS))
    }
}

/// What the model is told of Bash, wherever the commands run.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec::new(
            "Bash",
            ToolClass::Execute,
            "Runs a shell command and returns its merged stdout and stderr and how it ended. `cd` inside the \
             workspace persists, variables do not. There is no stdin, so pass flags that avoid prompts. Long output \
             loses its middle and names a file that has it. For a server, redirect its output to a file and end \
             with `&`. Prefer Read, Edit, Glob and Grep to cat, sed, find and grep.",
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
        if let Err(failure) = self.check_directory(&input, &directory) {
            return Ok(failure.into());
        }
        let limit = input.limit_ms();
        let moves = input.working_directory.is_none();
        let mut command = self.plain_line(&input.command, &directory);
        command.timeout = Duration::from_millis(limit);
        // Judged by the line as it was asked for, before anything is added.
        let confinement = self.confinement.as_deref().filter(|confinement| confinement.confines(&command));
        let folder =
            moves.then(|| self.told_by(&mut command, &input.command, confinement.is_some())).flatten();
        let spill = context.spill().map(|spill| (Arc::clone(spill), Arc::clone(&context.call_id)));
        let progress = context.clone();
        let show = move |text: &str| progress.progress(text);
        let finished = match process::run_and_keep(command, confinement, spill, &context.cancel, show).await {
            Ok(finished) => finished,
            Err(error) => return Ok(Failure::new("not_started", error.to_string()).into()),
        };
        let told = folder.and_then(FinalFolder::read).or_else(|| finished.last_directory.clone());
        let stayed = told.filter(|_| moves).and_then(|told| self.follow(&directory, &told));
        Ok(report(finished, limit, &self.workspace.current_dir(), stayed.into_iter().collect()))
    }
}

impl Bash {
    fn check_directory(&self, input: &BashInput, directory: &Path) -> Result<(), Failure> {
        let shown = directory.to_string_lossy();
        match fs::metadata(directory) {
            Ok(found) if found.is_dir() => Ok(()),
            // A session whose folder is gone goes back to where it can go on; the command was not meant for there.
            _ if input.working_directory.is_none() && self.workspace.enter(self.workspace.root()) => {
                let root = self.workspace.root().to_string_lossy();
                let message = format!("not run: the folder {shown} is gone; the next command runs in {root}");
                Err(Failure::new("not_found", message))
            }
            Ok(_) => {
                Err(Failure::new("invalid_argument", format!("cannot run in {shown}: it is not a folder")))
            }
            Err(error) => Err(Failure::io("run in", &shown, &error)),
        }
    }

    /// The command as it is started in `directory`.
    fn plain_line(&self, command: &str, directory: &Path) -> CommandLine {
        let is_set_here = |name: &OsStr| name == "PWD" || name == "OLDPWD";
        let given = self.environment.iter().filter(|(name, _)| !is_set_here(name)).cloned();
        let mut environment: Vec<(OsString, OsString)> = given.collect();
        environment.push(("PWD".into(), directory.into()));
        CommandLine {
            program: self.shell.clone(),
            arguments: vec!["-c".into(), command.into()],
            directory: directory.to_owned(),
            environment,
            timeout: Duration::ZERO,
        }
    }

    /// Has the shell of `line` tell where it ended, when `command` moves it.
    fn told_by(&self, line: &mut CommandLine, command: &str, is_confined: bool) -> Option<FinalFolder> {
        let folder = FinalFolder::prepare(&self.shell, command, &mut line.environment, is_confined)?;
        line.arguments = vec!["-c".into(), folder.command().into()];
        Some(folder)
    }

    /// Takes the session to where the shell has gone from `directory`; where it must not go, it stays, and the note
    /// says so.
    fn follow(&self, directory: &Path, told: &Path) -> Option<String> {
        if told == directory || self.workspace.enter(told) {
            return None;
        }
        let (told, directory) = (told.to_string_lossy(), directory.to_string_lossy());
        Some(format!("{told} is no folder of the workspace; the next command runs in {directory} again"))
    }
}

/// The output, and below it what there is to tell of it and of how the command ended; `directory` is where the
/// next command runs.
pub(crate) fn report(finished: Finished, limit_ms: u64, directory: &Path, notes: Vec<String>) -> ToolOutcome {
    let (ending, code) = how_it_ended(finished.ending, limit_ms);
    let facts = facts(&finished, directory);
    let mut output = finished.output;
    output.truncate(output.trim_end().len());
    if finished.left_behind {
        append(
            &mut output,
            "a background process holds the output open and is no longer listened to; redirect its output to a file",
        );
    }
    for note in notes.into_iter().chain(ending) {
        append(&mut output, &note);
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    match code {
        Some(code) => ToolOutcome::failure(output).with_error_code(code),
        None => ToolOutcome::success(output),
    }
    .with_structured(facts)
}

fn facts(finished: &Finished, directory: &Path) -> Value {
    let mut facts = json!({
        "exitCode": null,
        "durationMs": u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        "cwd": directory.to_string_lossy(),
    });
    match finished.ending {
        Ending::Exited(code) => facts["exitCode"] = code.into(),
        Ending::Signalled(signal) => facts["signal"] = signal.into(),
        Ending::TimedOut => facts["timedOut"] = true.into(),
        Ending::Cancelled => {}
    }
    if finished.omitted_bytes > 0 {
        facts["truncated"] = true.into();
    }
    if let Some(spilled) = &finished.spilled {
        facts["outputFile"] = spilled.path.to_string_lossy().into();
    }
    facts
}

/// How a command ended, in words and as a code, when that is not plain success.
fn how_it_ended(ending: Ending, limit_ms: u64) -> (Option<String>, Option<&'static str>) {
    let (note, code) = match ending {
        Ending::Exited(0) => return (None, None),
        Ending::Exited(code) => (format!("exit code {code}"), "exit_code"),
        Ending::Signalled(signal) => {
            let name = process::signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
            (format!("killed by signal {signal}{name}"), "signal")
        }
        Ending::TimedOut => (
            format!("timed out after {limit_ms} ms; it and everything it had started was ended"),
            "timed_out",
        ),
        Ending::Cancelled => {
            ("cancelled; it and everything it had started was ended".to_owned(), "cancelled")
        }
    };
    (Some(note), Some(code))
}

fn append(output: &mut String, note: &str) {
    if !output.is_empty() {
        output.push('\n');
    }
    // Writing to a string does not fail.
    let _ = write!(output, "[{note}]");
}
