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
    /// Folder for this call only.
    #[serde(default, alias = "working_directory", alias = "cwd", alias = "workdir")]
    #[schemars(with = "PathInput")]
    pub(crate) working_directory: Option<PathInput>,
    /// Where the session was when the call was judged.
    #[serde(skip)]
    #[schemars(skip)]
    current: OnceLock<PathBuf>,
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
        vec![Access::Command { command: input.command.clone(), cwd: self.directory(input).to_owned() }]
    }

    async fn run(self: Arc<Self>, input: BashInput, context: ToolContext) -> ToolResult {
        if input.command.trim().is_empty() || input.command.contains('\0') {
            let message = "the command is empty or contains a NUL character";
            return Ok(Failure::new("invalid_argument", message).into());
        }
        let directory = self.directory(&input).to_owned();
        if let Err(failure) = self.check_directory(&input, &directory) {
            return Ok(failure.into());
        }
        // Models write 0 for no limit of their own.
        let asked = input.timeout.filter(|limit| limit.0 > 0);
        let limit = asked.map_or(DEFAULT_TIMEOUT_MS, |limit| limit.0.min(MAX_TIMEOUT_MS));
        let moves = input.working_directory.is_none();
        let (command, folder) = self.command_line(&input.command, &directory, moves);
        let command = CommandLine { timeout: Duration::from_millis(limit), ..command };
        let spill = context.spill().map(|spill| (Arc::clone(spill), Arc::clone(&context.call_id)));
        let (progress, confinement) = (context.clone(), self.confinement.as_deref());
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
    /// Where the command runs; the same however often it is asked for.
    fn directory<'a>(&self, input: &'a BashInput) -> &'a Path {
        match &input.working_directory {
            Some(path) => path.resolve(&self.workspace),
            None => input.current.get_or_init(|| self.workspace.current_dir()),
        }
    }

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

    /// The command as it is started in `directory`, and how it tells where it ended when it `moves` the session.
    fn command_line(
        &self,
        command: &str,
        directory: &Path,
        moves: bool,
    ) -> (CommandLine, Option<FinalFolder>) {
        let is_set_here = |name: &OsStr| name == "PWD" || name == "OLDPWD";
        let given = self.environment.iter().filter(|(name, _)| !is_set_here(name)).cloned();
        let mut environment: Vec<(OsString, OsString)> = given.collect();
        environment.push(("PWD".into(), directory.into()));
        let bash_env =
            environment.iter().find(|(name, _)| name == "BASH_ENV").map(|(_, value)| value.clone());
        let folder = moves.then(|| {
            let temp = process::temp_folder(&environment);
            FinalFolder::of(&self.shell, command, &temp, bash_env.as_deref())
        });
        let folder = folder.flatten();
        if let Some(file) = folder.as_ref().and_then(FinalFolder::bash_env) {
            environment.retain(|(name, _)| name != "BASH_ENV");
            environment.push(("BASH_ENV".into(), file.into()));
        }
        let command = folder.as_ref().map_or(command, FinalFolder::command);
        let line = CommandLine {
            program: self.shell.clone(),
            arguments: vec!["-c".into(), command.into()],
            directory: directory.to_owned(),
            environment,
            timeout: Duration::ZERO,
        };
        (line, folder)
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
