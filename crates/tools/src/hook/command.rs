//! Hooks that are shell commands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use robota_core::{HookAction, HookCall, HookExecutor, HookFailure, HookInput, HookReply, HookTask};
use tokio_util::sync::CancellationToken;

use crate::process::{self, CommandLine, Ending, Exchanged};

/// The deadline of a hook is the engine's; this one holds where there is no engine.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs hooks of the type `command`, as Claude Code does: by a shell in the session's working directory, with
/// the input as one line of JSON on standard input.
///
/// Beside the environment of the host, a command is given `CLAUDE_PROJECT_DIR` and `CLAUDE_SESSION_ID`, at
/// events of a subagent `ROBOTA_AGENT_ID` and `ROBOTA_AGENT_TYPE`, and the variables of its group. It runs in
/// a process group of its own, of which nothing is left when it has ended, was cancelled, or was dropped.
/// One MiB of each output is kept.
#[derive(Clone)]
pub struct CommandHook {
    shell: PathBuf,
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl CommandHook {
    /// Runs commands by `shell` (see [`find_shell`](process::find_shell)) for the project in `project`.
    /// `environment` is everything that they inherit (see [`child_environment`](process::child_environment)).
    #[must_use]
    pub fn new(
        shell: impl Into<PathBuf>,
        project: impl Into<PathBuf>,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        Self { shell: shell.into(), project: project.into(), environment }
    }

    async fn run(&self, task: HookTask<'_>, cancel: &CancellationToken) -> Result<HookReply, HookFailure> {
        let HookAction::Command { command } = task.action else {
            return Err(HookFailure::new("is not a command"));
        };
        let command = CommandLine {
            program: self.shell.clone(),
            arguments: vec!["-c".into(), command.into()],
            directory: self.directory(&task.input.cwd).to_owned(),
            environment: self.environment_of(task.input, task.env),
            timeout: LONGEST,
        };
        // Scripts read it by line.
        let input = [task.json.as_bytes(), b"\n"].concat();
        match process::exchange(command, input, cancel).await {
            Ok(exchanged) => reply(exchanged),
            Err(error) => Err(HookFailure::new("could not be run").because(error)),
        }
    }

    /// The working directory; the project when that is gone.
    fn directory<'a>(&'a self, wanted: &'a Path) -> &'a Path {
        if wanted.is_dir() { wanted } else { &self.project }
    }

    fn environment_of(
        &self,
        input: &HookInput,
        group: &BTreeMap<String, String>,
    ) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment.clone();
        environment.extend(group.iter().map(|(name, value)| (name.into(), value.into())));
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        set("CLAUDE_PROJECT_DIR", self.project.clone().into());
        set("CLAUDE_SESSION_ID", input.session_id.as_str().into());
        if let HookCall::SubagentStart { agent_id, agent_type }
        | HookCall::SubagentStop { agent_id, agent_type, .. } = &input.call
        {
            // No variable can hold a NUL.
            set("ROBOTA_AGENT_ID", agent_id.replace('\0', "").into());
            set("ROBOTA_AGENT_TYPE", agent_type.replace('\0', "").into());
        }
        environment
    }
}

impl HookExecutor for CommandHook {
    fn execute<'a>(
        &'a self,
        task: HookTask<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<HookReply, HookFailure>> {
        self.run(task, cancel).boxed()
    }
}

fn reply(exchanged: Exchanged) -> Result<HookReply, HookFailure> {
    let Exchanged { ending, stdout, stderr } = exchanged;
    match ending {
        Ending::Exited(0) if stdout.omitted > 0 && stdout.text.trim_start().starts_with('{') => {
            let message = format!(
                "printed {} bytes of JSON; at most {} are read",
                stdout.text.len() as u64 + stdout.omitted,
                process::KEPT
            );
            Err(HookFailure::new(message))
        }
        Ending::Exited(code) => Ok(HookReply::Output { code, stdout: stdout.text, stderr: stderr.text }),
        Ending::Signalled(signal) => {
            let name = process::signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
            Err(HookFailure::new(format!("was ended by signal {signal}{name}")))
        }
        Ending::TimedOut => Err(HookFailure::new("took longer than a day")),
        Ending::Cancelled => Err(HookFailure::new("was cancelled")),
    }
}
