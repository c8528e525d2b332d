//! `robota demo`: the whole loop on a scratch project.

mod project;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use robota_core::PermissionMode;
use robota_framework::Variable;
use robota_session::{FileStore, Session};
use robota_testkit::{FakeModelServer, Script};

use crate::args::{Cli, DemoArgs, RunArgs};
use crate::compose::{Composition, compose, session_failure};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::print::{View, drive, runtime};
use crate::signals::Signals;
use crate::stdout::Output;
use project::Project;

/// What the model is asked to do.
const TASK: &str = "The test in test.sh fails. Find out why, fix the code, and run the test again.";

/// Name of the session.
const NAME: &str = "demo";

/// What the scripted model says, one reply for each round.
const PLAN: &str = include_str!("plan.json");

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let mut output = Output::new();
    let mut host = Host::of_process()?;
    let project = Project::create(args.dir.as_deref())?;
    host.cwd = project.folder.clone();
    let server = if args.live { None } else { Some(scripted_model(&mut host, &mut output)?) };
    let flags = run_flags(args.live);
    let composition = compose(&host, &flags)?;
    if args.live {
        output.line(&format!("The model is {}; everything is real.", composition.model.model));
    }
    output.line(&format!("Scratch project: {}", project.folder.display()));
    output.line(&format!("Task: {TASK}\n"));
    output.flush();

    let runtime = runtime()?;
    let exit = runtime.block_on(work(&composition, &flags, &project, &mut output))?;
    if let Some(server) = server {
        runtime.block_on(server.shutdown());
    }
    output.finish().map_err(|error| Failure::output(&error))?;
    Ok(exit)
}

/// Starts the fake model server, and makes the host's environment point to it and to nothing else.
fn scripted_model(host: &mut Host, output: &mut Output) -> Result<FakeModelServer, Failure> {
    output.line("The model in this demo is scripted; the tools, the permissions, the log and HTTP are real.");
    let failed = |error: &dyn std::error::Error| Failure::from_error(Exit::Failed, error);
    let script = Script::from_json(PLAN).map_err(|error| failed(&error))?;
    let server = FakeModelServer::start_blocking(script).map_err(|error| failed(&error))?;
    let of_robota = |name: &OsStr| Variable::ALL.iter().any(|variable| name == variable.name);
    let kept = host.environment.pairs().filter(|(name, _)| !of_robota(name));
    let mut pairs: Vec<_> = kept.collect();
    pairs.push((Variable::ANTHROPIC_API_KEY.name.into(), "scripted-demo-key".into()));
    pairs.push((Variable::ANTHROPIC_BASE_URL.name.into(), server.base_url().into()));
    host.environment = pairs.into_iter().collect();
    // The user's own settings must not decide what the demo may do.
    host.home = None;
    Ok(server)
}

/// The flags of the run: what a person would give to let exactly this task through.
fn run_flags(live: bool) -> RunArgs {
    let mut args = Cli::parse_from(["robota", "--print", "--verbose"]).run;
    args.permission_mode = Some(PermissionMode::AcceptEdits);
    args.allowed_tools = vec!["Bash(sh test.sh)".to_owned()];
    args.name = Some(NAME.to_owned());
    if !live {
        args.provider = Some("anthropic".to_owned());
        args.model = Some("scripted-demo".to_owned());
    }
    args
}

async fn work(
    composition: &Composition,
    flags: &RunArgs,
    project: &Project,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be listened to: {error}")))?;
    let session = Arc::new(composition.open(flags).await?);
    let view = View::new(flags, composition, &session);
    let exit = drive(&session, TASK.into(), view, &mut signals).await?;
    session.shutdown("other").await.map_err(|error| session_failure(&error))?;
    output.line("\nWhat changed:");
    output.write(&project.diff()?);
    output.line(&next_steps(&session, composition, &project.folder));
    Ok(exit)
}

fn next_steps(session: &Session, composition: &Composition, folder: &Path) -> String {
    let id = session.session_id();
    let log = FileStore::new(&composition.paths.state_dir).log_path(id);
    let program = program();
    format!(
        "\nSession {id}, named {NAME}\nLog     {}\n\nIn {}:\n  {program} session show {NAME}     what happened\n  {program} session replay {NAME}   run it again from its log, and check every request\n  {program} -p -r {NAME} PROMPT     go on with it (needs a key)",
        log.display(),
        folder.display(),
    )
}

/// How this program was called, so that the commands shown can be copied.
fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let path = called.filter(|path| path.components().count() > 1).and_then(|path| path.canonicalize().ok());
    path.map_or_else(|| "robota".to_owned(), |path| path.display().to_string())
}
