//! `robota sandbox run`.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use robota_framework::{Sandbox, SandboxNetwork, SandboxPlan, SandboxState};
use robota_tools::process::{CommandLine, Confine, Confined, find_shell};

use crate::exit::{Exit, Failure, chain};
use crate::host::sandbox_helper;
use crate::print::runtime;
use crate::sandbox_args::{NetworkArg, SandboxRunArgs};
use crate::signals::{Asked, Signals};
use crate::stdout::complain;
use crate::unmodelled::Unmodelled;

/// The exit code of a command that could not be confined.
const NOT_CONFINED: Exit = Exit::Command(125);

pub(super) fn run(args: &SandboxRunArgs) -> Result<Exit, Failure> {
    let unmodelled = Unmodelled::of(&args.policy)?;
    unmodelled.notices.iter().for_each(|notice| complain(&format!("note: {notice}")));
    let permissions = unmodelled.permissions()?;
    let cwd = permissions.policy.cwd.clone();
    let plan = planned(permissions.sandbox.plan, args, &cwd);
    let confine = match Sandbox::prepare(plan, sandbox_helper().as_ref()).state {
        SandboxState::On { confine, weaknesses } => {
            weaknesses.iter().for_each(|weakness| complain(&format!("note: not enforced: {weakness}")));
            confine
        }
        SandboxState::Unavailable { reason } | SandboxState::Refused { reason } => {
            return Err(Failure::new(NOT_CONFINED, reason).with_hint(STATUS));
        }
        _ => return Err(Failure::new(NOT_CONFINED, "there is no sandbox here")),
    };
    let environment = unmodelled.blueprint.command_environment();
    let path = environment.iter().find(|(name, _)| name == OsStr::new("PATH"));
    let command = CommandLine {
        program: find_shell(path.map(|(_, value)| value.as_os_str())),
        // The words reach the program as they are.
        arguments: [OsStr::new("-c"), OsStr::new(r#"exec "$@""#), OsStr::new("sh")]
            .into_iter()
            .chain(args.command.iter().map(AsRef::as_ref))
            .map(OsStr::to_owned)
            .collect(),
        directory: cwd,
        environment,
        timeout: Duration::MAX,
    };
    runtime()?.block_on(ended(&confine, command))
}

const STATUS: &str = "`robota sandbox status` says what there is.";

/// The plan of the settings with what the flags change; nothing is outside of it.
fn planned(mut plan: SandboxPlan, args: &SandboxRunArgs, cwd: &std::path::Path) -> SandboxPlan {
    plan.enabled = true;
    plan.writable.extend(args.allow_write.iter().map(|folder| cwd.join(folder)));
    match args.network {
        Some(NetworkArg::Off) => plan.network = SandboxNetwork::Off,
        Some(NetworkArg::Open) => plan.network = SandboxNetwork::Open,
        None => {}
    }
    if !args.allow_domain.is_empty() {
        let mut domains = match plan.network {
            SandboxNetwork::Domains(domains) => domains,
            _ => Vec::new(),
        };
        domains.extend(args.allow_domain.iter().cloned());
        plan.network = SandboxNetwork::Domains(domains);
    }
    plan
}

/// Starts the command with our own outputs, and waits for its end.
async fn ended(confine: &Arc<dyn Confine>, command: CommandLine) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be listened to: {error}")))?;
    let not_confined =
        |error: &dyn std::error::Error| Failure::new(NOT_CONFINED, chain(error)).with_hint(STATUS);
    let Confined { command, stdin, keep, verdict } =
        confine.confine(command).map_err(|error| not_confined(&error))?;
    let mut child = start(command, stdin).map_err(|error| not_confined(&error))?;
    let mut interrupted = false;
    let status = loop {
        tokio::select! {
            biased;
            asked = signals.next() => match asked {
                // The terminal has told the command too; a second time it is ended.
                Asked::Interrupt if !std::mem::replace(&mut interrupted, true) => {}
                asked => {
                    let _ = child.kill().await;
                    return Ok(if asked == Asked::Interrupt { Exit::Interrupted } else { Exit::Terminated });
                }
            },
            status = child.wait() => break status,
        }
    };
    let status = status.map_err(|error| Failure::from_error(Exit::Failed, &error))?;
    if let Some(verdict) = verdict {
        verdict().map_err(|error| not_confined(&error))?;
    }
    drop(keep);
    Ok(exit_of(status))
}

/// The program with our own outputs. Nothing of `stdin` stays open here: by its end the sandbox knows the command's.
fn start(command: CommandLine, stdin: Option<OwnedFd>) -> io::Result<tokio::process::Child> {
    #[expect(
        clippy::disallowed_methods,
        reason = "its outputs are ours, so that nothing of them is kept or changed"
    )]
    let mut program = std::process::Command::new(&command.program);
    program.args(&command.arguments).current_dir(&command.directory);
    program.env_clear().envs(command.environment);
    program.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
    tokio::process::Command::from(program).kill_on_drop(true).spawn()
}

fn exit_of(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Command(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
