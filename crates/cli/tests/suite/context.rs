//! A home, a project and a model for one test.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use robota_testkit::{FakeModelServer, Script, TempWorkspace};
use serde_json::Value;

/// What a run of the program left behind.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The frames on standard output.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Asserts a failure with `code` whose message holds every one of `parts`.
    #[track_caller]
    pub(crate) fn assert_failure(&self, code: i32, parts: &[&str]) {
        let Self { code: ended, stdout, stderr } = self;
        assert_eq!(*ended, Some(code), "stdout: {stdout}\nstderr: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{part:?} is missing in: {stderr}");
        }
    }

    /// Asserts success without any word on standard error.
    #[track_caller]
    pub(crate) fn assert_success(&self) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "stdout: {}", self.stdout);
        self
    }
}

/// The surroundings of one test.
pub(crate) struct Context {
    pub(crate) space: TempWorkspace,
    pub(crate) server: FakeModelServer,
}

impl Context {
    /// An empty home and project, and a model that plays `script`.
    pub(crate) fn new(script: impl Into<Script>) -> Self {
        Self::with(FakeModelServer::start_blocking(script).unwrap())
    }

    /// An empty home and project, and the model behind `server`.
    pub(crate) fn with(server: FakeModelServer) -> Self {
        Self { space: TempWorkspace::new().dir("home").dir("project"), server }
    }

    /// The program in the project, with the scripted model behind the Anthropic API.
    pub(crate) fn robota(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        command.env("ANTHROPIC_API_KEY", "test-key-for-the-fake-model");
        command.env("ANTHROPIC_BASE_URL", self.server.base_url());
        command
    }

    /// The program in the project without any provider.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robota"));
        command.env_clear().env("HOME", self.space.path("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.current_dir(self.space.path("project")).args(arguments);
        command
    }

    /// Runs the program with the scripted model.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.robota(arguments).output().unwrap())
    }

    /// Waits until `text` stands in a log of the project; the log is written while the turn runs.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let folder = self.space.path("project/.robota/logs");
        loop {
            let logs = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            if logs.into_iter().any(|log| std::fs::read_to_string(log).is_ok_and(|log| log.contains(text))) {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// The only session log of the project.
    pub(crate) fn log(&self) -> Vec<Value> {
        let folder = self.space.path("project/.robota/logs");
        let logs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(logs.len(), 1, "{logs:?}");
        read_log(&logs[0])
    }
}

/// The events of a log.
pub(crate) fn read_log(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
