//! A workspace, a folder beside it, and commands that run in the sandbox.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use robota_tools::confine::{Helper, LinuxSandbox, SandboxPolicy, SandboxStatus, probe};
use robota_tools::process::{CommandLine, Ending, Finished, RunError, run};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Confined {
    folder: TempDir,
    sandbox: LinuxSandbox,
}

/// The program that the tests use as helper: the example `confined`, which is built with them.
pub(crate) fn helper() -> Helper {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/confined");
    assert!(program.exists(), "build it first: cargo build -p robota-tools --example confined");
    Helper { program, leading: vec!["--confine-helper".into()] }
}

/// What the system has; prints what is missing, which the tests then leave out.
pub(crate) fn status() -> SandboxStatus {
    let status = probe(&helper());
    let layers = [&status.mounts, &status.network_namespace, &status.landlock, &status.system_calls];
    for reason in layers.into_iter().filter_map(|layer| layer.reason()) {
        println!("not tested in full: {reason}");
    }
    status
}

impl Confined {
    pub(crate) fn new() -> Self {
        Self::with(status(), |_, _| {})
    }

    /// `adjust` gets the folder that `work` and `outside` are in.
    pub(crate) fn with(status: SandboxStatus, adjust: impl FnOnce(&Path, &mut SandboxPolicy)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/victim"), "kept").unwrap();
        let mut policy = SandboxPolicy::new(vec![folder.path().join("work")]);
        adjust(folder.path(), &mut policy);
        let sandbox = LinuxSandbox::with_status(&policy, helper(), status).unwrap();
        Self { folder, sandbox }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, command: &str, timeout: Duration) -> CommandLine {
        let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        let variables = [("PATH", path), ("HOME", "/root"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")];
        let mut environment: Vec<(OsString, OsString)> =
            variables.map(|(name, value)| (name.into(), value.into())).into();
        environment.push(("OUT".into(), self.path("outside").into()));
        CommandLine {
            program: "/bin/bash".into(),
            arguments: vec!["-c".into(), command.into()],
            directory: self.path("work"),
            environment,
            timeout,
        }
    }

    pub(crate) async fn run_for(&self, command: &str, timeout: Duration) -> Result<Finished, RunError> {
        let command = self.command(command, timeout);
        run(command, Some(&self.sandbox), &CancellationToken::new(), |_| {}).await
    }

    /// What a command prints, and its exit code.
    pub(crate) async fn sh(&self, command: &str) -> (String, i32) {
        let finished = self.run_for(command, Duration::from_secs(60)).await.unwrap();
        match finished.ending {
            Ending::Exited(code) => (finished.output.trim_end().to_owned(), code),
            other => panic!("{command}: {other:?}: {}", finished.output),
        }
    }

    /// What a command prints that succeeds.
    pub(crate) async fn ok(&self, command: &str) -> String {
        let (output, code) = self.sh(command).await;
        assert_eq!(code, 0, "{command}: {output}");
        output
    }

    /// The answer of a command line without the sandbox; for what only a host can do.
    pub(crate) async fn outside(&self, command: &str) -> (String, Ending) {
        let command = self.command(command, Duration::from_secs(60));
        let finished = run(command, None, &CancellationToken::new(), |_| {}).await.unwrap();
        (finished.output.trim_end().to_owned(), finished.ending)
    }
}

/// Whether a program is installed; prints when it is not.
pub(crate) async fn has(confined: &Confined, program: &str) -> bool {
    let found = confined.outside(&format!("command -v {program}")).await.1 == Ending::Exited(0);
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}
