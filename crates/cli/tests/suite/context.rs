//! A home, a project and a model for one test.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use assert_cmd::Command;
use robota_testkit::{FakeModelServer, RecordedRequest, Script, TempWorkspace};
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

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_robota");

/// Where commands are.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

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
        command.envs(self.provider());
        command
    }

    /// The program in the project without any provider.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env_clear().envs(self.surroundings()).current_dir(self.space.path("project"));
        command.args(arguments);
        command
    }

    /// A shell in the project that runs `line`, in which `robota` is the program with the scripted model.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let folder = Path::new(PROGRAM).parent().unwrap();
        let mut shell = Command::new("sh");
        shell.env_clear().envs(self.surroundings()).envs(self.provider());
        shell.env("PATH", format!("{}:{PATH}", folder.display()));
        shell.current_dir(self.space.path("project")).args(["-c", line]);
        shell
    }

    /// Starts the program with the scripted model, and does not wait for it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.process(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The program in the project with the scripted model, for who must talk to it while it runs, or end it.
    #[expect(clippy::disallowed_methods, reason = "assert_cmd can neither signal nor kill a running program")]
    pub(crate) fn process(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(PROGRAM);
        command.env_clear().envs(self.surroundings()).envs(self.provider());
        command.current_dir(self.space.path("project")).args(arguments).stdin(Stdio::null());
        command
    }

    /// All of the environment but the provider.
    fn surroundings(&self) -> [(&'static str, OsString); 2] {
        [("HOME", self.space.path("home").into()), ("PATH", PATH.into())]
    }

    /// The scripted model, behind the Anthropic API.
    fn provider(&self) -> [(&'static str, String); 2] {
        let key = "test-key-for-the-fake-model".to_owned();
        [("ANTHROPIC_API_KEY", key), ("ANTHROPIC_BASE_URL", self.server.base_url())]
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
        let mut logs: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        logs.retain(|path| path.extension() == Some("jsonl".as_ref()));
        assert_eq!(logs.len(), 1, "{logs:?}");
        read_log(&logs[0])
    }
}

/// What the user said last, without the note about the run in front of it.
pub(crate) fn last_prompt(request: &RecordedRequest) -> String {
    let text = request.last_user_text();
    let said = text.split_once("</system-reminder>\n").map_or(&*text, |(_, said)| said);
    said.to_owned()
}

/// The events of a log.
pub(crate) fn read_log(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
